"""Whether a ``TorchDispatchMode`` is on, per thread.

``__enter__`` saves up to three module variables and ``__exit__`` puts them back; two threads that
overlap leave them True for good, and Dynamo then compiles no more. The stack of modes itself is
per thread already. Here torch's own two methods run on variables of ours that hold this thread's
values, and torch's variables mean "in some thread"; their readers look no further while they are
False.
"""

from __future__ import annotations

import threading
from types import FunctionType
from typing import Any

from fxrace.guards._contract import Detach, GuardRefused, attach_all
from fxrace.guards._swap import copy_of, expecting, filled, swapped
from fxrace.guards._thread_state import ThreadFlag

ANY, OUTER = "_is_in_torch_dispatch_mode", "_is_in_non_infra_torch_dispatch_mode"
LOUD = "_is_in_any_mode_without_ignore_compile_internals"  # from 2.12
OURS = "_fxrace"


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


class Modes:
    """torch's bookkeeping of dispatch modes, done with the calling thread's values."""

    def __init__(self, space: dict[str, Any], enter: FunctionType, leave: FunctionType) -> None:
        self._space = space
        self.flags = {name: ThreadFlag(space, name) for name in (ANY, OUTER, LOUD) if name in space}
        self._lock = threading.RLock()
        self._enter, self._exit = self._on_ours(enter), self._on_ours(leave)

    def enter(self, mode: Any) -> Any:
        return self._run(self._enter, mode)

    def exit(self, mode: Any, *exc: Any) -> Any:
        return self._run(self._exit, mode, *exc)

    def is_in(self, infra: bool) -> bool:  # noqa: FBT001 - as torch's
        return self.flags[ANY if infra else OUTER].here()

    def is_loud(self) -> bool:
        return self.flags[LOUD].here()

    def begin(self) -> Detach:
        """Make the variables; the result takes them away."""
        for name in self.flags:
            self._space[name + OURS] = False

        def detach() -> None:
            with self._lock:
                for name, flag in self.flags.items():
                    flag.live = False
                    del self._space[name + OURS]

        return detach

    def _run(self, function: FunctionType, *args: Any) -> Any:
        with self._lock:
            if not self.flags[ANY].live:
                return getattr(self._space["TorchDispatchMode"], function.__name__)(*args)
            for name, flag in self.flags.items():
                self._space[name + OURS] = flag.mine
            try:
                return function(*args)
            finally:
                for name, flag in self.flags.items():
                    flag.set(self._space[name + OURS])

    def _on_ours(self, function: FunctionType) -> FunctionType:
        copy = copy_of(function)
        names = tuple(n + OURS if n in self.flags else n for n in copy.__code__.co_names)
        copy.__code__ = copy.__code__.replace(co_names=names)
        return copy


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
        modes.begin,
        *(lambda f=f, t=t: swapped(f, filled(t, f, modes)) for f, t in changes.items()),
    )
