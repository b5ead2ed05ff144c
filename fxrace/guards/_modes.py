"""Whether a ``TorchDispatchMode`` is on, per thread.

``__enter__`` saves up to three module variables and ``__exit__`` puts them back; two threads that
overlap leave them True for good, and Dynamo then compiles no more. The stack of modes itself is
per thread already. Here torch's own two methods run on variables of the calling thread, and
torch's variables mean "in some thread"; their readers look no further while they are False.
"""

from __future__ import annotations

import threading
from types import CodeType, FunctionType
from typing import Any

from fxrace.guards._contract import Detach, GuardRefused, attach_all
from fxrace.guards._swap import expecting, filled, swapped
from fxrace.guards._thread_state import ThreadFlag

ANY, OUTER = "_is_in_torch_dispatch_mode", "_is_in_non_infra_torch_dispatch_mode"
LOUD = "_is_in_any_mode_without_ignore_compile_internals"  # from 2.12


def _enter(self: Any) -> Any:
    return "<fxrace>".enter(self)  # type: ignore[attr-defined]


def _exit(self: Any, exc_type: Any, exc_val: Any, exc_tb: Any) -> Any:
    return "<fxrace>".exit(self, exc_type, exc_val, exc_tb)  # type: ignore[attr-defined]


def _is_in(include_infra_modes: Any = True) -> Any:  # noqa: FBT002 - as torch's
    if not _is_in_torch_dispatch_mode:  # type: ignore[name-defined]  # noqa: F821
        return False
    return "<fxrace>".is_in(include_infra_modes)  # type: ignore[attr-defined]


def _is_in_loud() -> Any:
    return _is_in_any_mode_without_ignore_compile_internals and "<fxrace>".is_loud()  # type: ignore[name-defined, attr-defined]  # noqa: F821


class _Space(dict[str, Any]):
    """A module's variables with some of one's own, for functions to run on."""

    def __init__(self, module: dict[str, Any], **own: Any) -> None:
        super().__init__(own)
        self._module = module

    def __missing__(self, name: str) -> Any:
        return self._module[name]


class _Mine(threading.local):
    """torch's two methods on this thread's variables."""

    def __init__(self, space: dict[str, Any], names: list[str], *methods: CodeType) -> None:
        self.space = _Space(space, **dict.fromkeys(names, False))
        self.enter, self.exit = (FunctionType(code.replace(), self.space) for code in methods)


class Modes:
    """torch's bookkeeping of dispatch modes, done with the calling thread's values."""

    def __init__(self, space: dict[str, Any], enter: FunctionType, leave: FunctionType) -> None:
        names = [name for name in (ANY, OUTER, LOUD) if name in space]
        self.flags = {name: ThreadFlag(space, name) for name in names}
        self._mine = _Mine(space, names, enter.__code__, leave.__code__)
        self._kind = space["TorchDispatchMode"]

    def enter(self, mode: Any) -> Any:
        if not self.flags[ANY].live:  # the guard went while this thread was on its way here
            return self._kind.__enter__(mode)
        return self._told(self._mine.enter, mode)

    def exit(self, mode: Any, *exc: Any) -> Any:
        if not self.flags[ANY].live:
            return self._kind.__exit__(mode, *exc)
        return self._told(self._mine.exit, mode, *exc)

    def is_in(self, infra: bool) -> bool:  # noqa: FBT001 - as torch's
        return self.flags[ANY if infra else OUTER].here()

    def is_loud(self) -> bool:
        return self.flags[LOUD].here()

    def end(self) -> None:
        for flag in self.flags.values():
            flag.live = False

    def _told(self, method: FunctionType, *args: Any) -> Any:
        try:
            return method(*args)
        finally:
            for name, flag in self.flags.items():
                flag.set(self._mine.space[name])


def attach_modes() -> Detach:
    """Per-thread flags in ``torch.utils._python_dispatch``. Raises GuardRefused."""
    import torch.utils._python_dispatch as module

    space, kind = vars(module), module.TorchDispatchMode
    if space[ANY]:
        raise GuardRefused(
            "a dispatch mode is on in some thread, or two that overlapped left the flag up",
            remedy="install the guard before any TorchDispatchMode is entered",
        )
    enter, leave = expecting(kind.__enter__, ANY, OUTER), expecting(kind.__exit__, ANY, OUTER)
    modes = Modes(space, enter, leave)
    changes = {enter: _enter, leave: _exit, module.is_in_torch_dispatch_mode: _is_in}
    if LOUD in modes.flags:
        reader = module.is_in_any_mode_without_ignore_compile_internals
        changes[expecting(reader, LOUD)] = _is_in_loud
    return attach_all(
        lambda: modes.end,
        *(lambda f=f, t=t: swapped(f, filled(t, f, modes)) for f, t in changes.items()),
    )
