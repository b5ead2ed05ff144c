"""``torch.export``'s export itself.

Exporting replaces builtins and flags for every thread, and makes ``torch.compile`` a no-op
meanwhile. ``_export`` is looked up on every call.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from fxrace.probe.hooks import Blind, Detach, replaced
from fxrace.probe.watching import Watching

KNOWN = "2.2 to 2.15; read in 2.13"
AFTER = "torch.export._trace"
KIND = "export"


def attach(watching: Watching) -> Detach:
    from torch.export import _trace

    original: Any = vars(_trace).get("_export")
    if original is None:
        raise Blind("torch.export._trace has no _export")

    @wraps(original)
    def export(*args: Any, **kwargs: Any) -> Any:
        with watching.regions.region(KIND, "export"):
            return original(*args, **kwargs)

    return replaced(_trace, "_export", export)
