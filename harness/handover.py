"""Runs a piece of one thread's work on another thread, as if it had run at home.

What autograd keeps per thread goes along: grad mode, the device, and the innermost pair of
saved-tensor hooks. Without the hooks, non-reentrant checkpoint would not see the tensors that
the work saves, and would fail in backward because recomputing saves more than forward did.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """The thread-local torch state of the thread that hands work over."""

    grad: bool
    device: int | None
    hooks: tuple[Callable[[Any], Any], Callable[[Any], Any]] | None

    @classmethod
    def here(cls) -> Setting:
        """The current thread's."""
        cuda = torch.cuda.is_initialized()
        return cls(
            grad=torch.is_grad_enabled(),
            device=torch.cuda.current_device() if cuda else None,
            hooks=_innermost_hooks(),
        )

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The current thread has this setting for the length of the block."""
        with ExitStack() as stack:
            stack.enter_context(torch.set_grad_enabled(self.grad))
            if self.device is not None:
                stack.enter_context(torch.cuda.device(self.device))
            if self.hooks is not None:
                stack.enter_context(torch.autograd.graph.saved_tensors_hooks(*self.hooks))
            yield


def _innermost_hooks() -> Any:
    """(pack, unpack) or None; autograd itself only ever uses the innermost pair."""
    top = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
    return None if top is None else top(True)


class Errand(Generic[T]):
    """One piece of work, its setting, and what became of it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work, self._setting = work, Setting.here()
        self._done = threading.Event()
        self._result: tuple[T] | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do it, on the thread it was handed to. Never raises."""
        try:
            with self._setting.applied():
                self._result = (self._work(),)
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()

    def wait(self, bound_s: float) -> bool:
        """True when it is done."""
        return self._done.wait(bound_s)

    def outcome(self) -> T:
        """What the work returned; raises what it raised, with the traceback of the other thread."""
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise RuntimeError("the errand has not been run")
        return self._result[0]
