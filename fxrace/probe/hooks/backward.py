"""``Tensor.backward`` and ``autograd.grad``: who feeds the engine, and which threads work for it.

The caller releases ``backward:<n>`` before it enters the engine. A thread that works for it (a
device thread of autograd, or one of the engine's pool) acquires that key before its first region,
releases ``backward:<n>:return`` after its outermost one, and the caller acquires that when the
engine has come back. Such a thread is no Python thread and is told nothing about its caller, so
the caller's number is tied to the engine's task id by a hook on the nodes it starts from, which
run before anything else of the task does.

Where compiled autograd is on, that hook would be compiled into the graph: no edge is recorded.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from fxrace.probe.hooks import Blind, Detach, in_reverse, replaced
from fxrace.probe.watching import Watching

KNOWN = "2.4 to 2.15; read in 2.13"
KIND = "backward"
_ENTRY = "_engine_run_backward"


def attach(watching: Watching) -> Detach:
    import torch
    from torch.autograd import graph

    holders = [module for module in (graph, torch.autograd) if _ENTRY in vars(module)]
    task_of: Any = getattr(torch._C, "_current_graph_task_id", None)
    if len(holders) != 2 or task_of is None:
        raise Blind("torch.autograd has no _engine_run_backward, or the engine tells no task id")
    original: Any = getattr(graph, _ENTRY)
    tasks = _Tasks(watching, task_of)

    @wraps(original)
    def run(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        number = next(tasks.numbers)
        with watching.regions.region(KIND, f"backward:{number}"), tasks.feeding(number, outputs):
            return original(outputs, *args, **kwargs)

    watching.regions.outermost(tasks.entering, tasks.left)
    return in_reverse(*(replaced(holder, _ENTRY, run) for holder in holders))


class _Tasks:
    """Calls of the engine that are under way. Single dictionary stores, so no lock is needed."""

    def __init__(self, watching: Watching, task_of: Any) -> None:
        self._emit, self._task_of = watching.recorder.emit, task_of
        self.numbers = itertools.count(1)
        self._calls: dict[int, tuple[int, int]] = {}
        self._joined: dict[int, int] = {}
        self._worked: set[int] = set()

    @contextmanager
    def feeding(self, number: int, outputs: Any) -> Iterator[None]:
        """The current thread is about to hand these outputs to the engine."""
        me, mine = threading.get_ident(), list[int]()

        def begun(*_: Any) -> None:
            task = self._task_of()
            mine.append(task)
            self._calls[task] = (number, me)

        self._sync("release", f"backward:{number}")
        handles = [node.register_prehook(begun) for node in _roots(outputs)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
            for task in mine:
                self._calls.pop(task, None)
            if number in self._worked:
                self._worked.discard(number)
                self._sync("acquire", f"backward:{number}:return")

    def entering(self) -> None:
        """A thread's outermost region: if the engine runs it for another thread, say for which."""
        me = threading.get_ident()
        number, caller = self._calls.get(self._task_of(), (0, me))
        if caller != me:
            self._joined[me] = number
            self._sync("acquire", f"backward:{number}")

    def left(self) -> None:
        """The end of that region."""
        number = self._joined.pop(threading.get_ident(), None)
        if number is not None:
            self._sync("release", f"backward:{number}:return")
            self._worked.add(number)

    def _sync(self, edge: str, key: str) -> None:
        self._emit("sync", edge=edge, key=key, what="backward")


def _roots(outputs: Any) -> list[Any]:
    """The nodes the engine starts from. A leaf has none, and nothing to do on another thread."""
    compiled = sys.modules.get("torch._dynamo.compiled_autograd")
    if getattr(compiled, "compiled_autograd_enabled", False):
        return []
    nodes = (getattr(one, "node", None) or getattr(one, "grad_fn", None) for one in outputs)
    return [node for node in nodes if node is not None]
