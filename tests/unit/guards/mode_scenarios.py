"""Schedules about dispatch modes. Each returns what went wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _python_dispatch as dispatch
from torch.utils._python_dispatch import TorchDispatchMode, is_in_torch_dispatch_mode

from fxrace import guards
from tests.unit.guards.parked import Parked, beside

FLAGS = [name for name in vars(dispatch) if name.startswith("_is_in_")]


class Passing(TorchDispatchMode):
    """A mode of a user's, which changes nothing."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Infra(Passing):
    """One of torch's own kind."""

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True


def inside(mode: TorchDispatchMode) -> Any:
    def work(pause: Any) -> list[bool]:
        with mode:
            pause()
            torch.ones(2) + 1
            return seen()

    return work


def seen() -> list[bool]:
    """What torch says in this thread: any mode, any not its own, any not ignored."""
    loud = getattr(dispatch, "is_in_any_mode_without_ignore_compile_internals", None)
    found = [is_in_torch_dispatch_mode(), is_in_torch_dispatch_mode(include_infra_modes=False)]
    return [bool(one) for one in (*found, *([loud()] if loud else []))]


def differs(**found: tuple[Any, Any]) -> list[str]:
    return [f"{name} is {got}, not {wanted}" for name, (got, wanted) in found.items()
            if got != wanted]  # fmt: skip


NONE = [False] * len(seen())


def modes_that_overlap() -> list[str]:
    """The first to enter is the first to leave: afterwards no mode is on."""
    first, second = Parked(inside(Passing())), Parked(inside(Passing()), "B")
    inner = [first.go(), second.go()]
    left = [name for name in FLAGS if vars(dispatch)[name]]
    return differs(inside=(inner, [[True] * len(NONE)] * 2), after=(beside(seen), NONE)) + left


def mode_elsewhere() -> list[str]:
    """A thread that is in no mode sees none, and one in torch's own kind no other."""
    first = Parked(inside(Passing()))
    own = Parked(inside(Infra()), "B").go()
    here = beside(seen)
    return differs(here=(here, NONE), own=(own[:2], [True, False]), after=(first.go()[0], True))


def modes_of_one_thread() -> list[str]:
    """Nested, left by an error, and entered again."""
    mode, found = Passing(), []
    for _ in range(2):
        try:
            with Infra():
                found.append(seen()[:2])
                with mode:
                    found.append(seen()[:2])
                    raise KeyError
        except KeyError:
            found.append(seen()[:2])
    return differs(levels=(found, [[True, False], [True, True], [False, False]] * 2))


def modes_outlive_the_guard() -> list[str]:
    """A thread that is inside when the guard goes leaves torch as it found it."""
    code = TorchDispatchMode.__enter__.__code__
    handle = guards.install("isolated")
    swapped = TorchDispatchMode.__enter__.__code__ is not code
    first = Parked(inside(Passing()))
    handle.remove()
    same = TorchDispatchMode.__enter__.__code__ is code
    found = differs(swapped=(swapped, True), same=(same, True), inside=(first.go()[0], True))
    return found + [name for name in FLAGS if vars(dispatch)[name]]
