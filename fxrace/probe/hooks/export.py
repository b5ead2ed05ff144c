"""``torch.export``: export, save and load.

Exporting replaces builtins and flags for every thread, and makes ``torch.compile`` a no-op
meanwhile; loading traces. ``_export`` is looked up on every call; ``save`` and ``load`` are
replaced in ``torch.export``, so a name imported from there before the hooks came is not seen.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from fxrace.probe.hooks import Blind, Detach, in_reverse, replaced
from fxrace.probe.watching import Watching

KNOWN = "2.2 to 2.15; read in 2.13"
KIND = "export"


def attach(watching: Watching) -> Detach:
    import torch.export
    from torch.export import _trace

    if "_export" not in vars(_trace) or not {"save", "load"} <= set(vars(torch.export)):
        raise Blind("torch.export has no _export, save or load")
    return in_reverse(
        _wrap(watching, _trace, "_export"),
        _wrap(watching, torch.export, "save"),
        _wrap(watching, torch.export, "load"),
    )


def _wrap(watching: Watching, module: Any, name: str) -> Detach:
    original = getattr(module, name)

    @wraps(original)
    def entry(*args: Any, **kwargs: Any) -> Any:
        with watching.regions.region(KIND, name.lstrip("_")):
            return original(*args, **kwargs)

    return replaced(module, name, entry)
