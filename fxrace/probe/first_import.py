"""Does something the moment a module's first import has finished, before anybody can use it.

Why: torch's import belongs to the program (it may never happen, or fail, or wait for an
environment variable), yet the hooks must be in place before the first trace. The surprise: the
action runs inside the import, while the module's import lock is held, so that no other thread
gets hold of the module before the hooks are on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def when_imported(name: str, action: Callable[[], None]) -> Callable[[], None]:
    """Run ``action()`` once, now if ``name`` is there already, else when its import succeeds.

    The result ends the waiting; it may be called at any time.
    """
    if name in sys.modules:
        action()
        return lambda: None
    waiting = _Waiting(name, action)
    sys.meta_path.insert(0, waiting)
    return waiting.cancel


class _Waiting:
    """Stands first on ``sys.meta_path`` until the module is found, and finds nothing itself."""

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name, self._action = name, action

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._name or self not in sys.meta_path:
            return None
        waiting = [one for one in sys.meta_path if isinstance(one, _Waiting) and one._name == name]
        for finder in [one for one in sys.meta_path if not isinstance(one, _Waiting)]:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                for one in reversed(waiting):
                    one._watch(spec.loader)
                return spec
        return None

    def cancel(self) -> None:
        with suppress(ValueError):  # the import has come, or comes in another thread
            sys.meta_path.remove(self)

    def _watch(self, loader: Any) -> None:
        """Shadow this one loader's ``exec_module`` until the module has run."""
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def then_act(module: ModuleType) -> None:
            execute(module)
            loader.__dict__.pop("exec_module", None)
            if self in sys.meta_path:
                self.cancel()
                self._action()

        loader.exec_module = then_act
