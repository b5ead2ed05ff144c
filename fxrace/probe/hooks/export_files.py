"""``torch.export.save`` and ``load``: loading traces, and both go through an exporter's States.

They are replaced in ``torch.export``, so a name imported from there before the hooks came is not
seen. Apart from ``export``, because they are there long before the module that exports.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from fxrace.probe.hooks import Blind, Detach, in_reverse, replaced
from fxrace.probe.watching import Watching

KNOWN = "2.2 to 2.15; read in 2.13"
KIND = "export"
_ENTRIES = ("save", "load")


def attach(watching: Watching) -> Detach:
    import torch.export

    if not set(_ENTRIES) <= set(vars(torch.export)):
        raise Blind("torch.export has no save or load")
    return in_reverse(*(_wrap(watching, torch.export, name) for name in _ENTRIES))


def _wrap(watching: Watching, module: Any, name: str) -> Detach:
    original = getattr(module, name)

    @wraps(original)
    def entry(*args: Any, **kwargs: Any) -> Any:
        with watching.regions.region(KIND, name):
            return original(*args, **kwargs)

    return replaced(module, name, entry)
