"""fxrace: a thread-safety diagnostic and reproduction toolkit for ``torch.compile``.

Importing this package imports neither torch nor any third-party library, because the same
package is loaded inside trial processes that have torch and the standard library only.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_LAZY = {"watch": "fxrace.watch", "exclusive": "fxrace.probe.exclusive"}


def __getattr__(name: str) -> Any:
    """``fxrace.watch`` and ``fxrace.exclusive``, imported when first asked for.

    Nobody should import the module ``fxrace.watch`` itself: it would take the function's place.
    """
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = found = getattr(import_module(_LAZY[name]), name)
    return found
