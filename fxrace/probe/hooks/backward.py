"""``Tensor.backward`` and ``autograd.grad``: who feeds the engine, and which threads work for it.

A thread that works for the engine (a device thread of autograd, or one of its pool) acquires
``backward:<n>`` before its first region, releases ``backward:<n>:return`` after its outermost
one, and the caller acquires that when the engine has come back. The caller's own release of
``backward:<n>`` is owed (``Recorder.owe``): a training step in which no other thread enters a
region, which is every warm one, leaves nothing in the record.

Such a thread is no Python thread and is told nothing about its caller. One call at a time may
do without a tie: a task of the engine that belongs to no other call is its own. Calls that come
meanwhile are tied to the engine's task id by a hook on the nodes it starts from, which run before
anything else of the task does (40 us). Neither is needed where the engine can only work in the
calling thread: no accelerator in use, and no backward inside a backward (those may move to the
pool). Where compiled autograd is on, the hook would be compiled into the graph: no edge is
recorded of a tied call.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from fxrace.probe.hooks import Blind, Detach, in_reverse, replaced
from fxrace.probe.watching import Watching

KNOWN = "2.4 to 2.15; read in 2.13"
KIND = "backward"
_ENTRY = "_engine_run_backward"
_LAZY_DEVICES, _NO_BACKEND = ("cuda", "xpu", "mtia"), "privateuseone"


def attach(watching: Watching) -> Detach:
    import torch
    from torch.autograd import graph

    holders = [module for module in (graph, torch.autograd) if _ENTRY in vars(module)]
    task_of: Any = getattr(torch._C, "_current_graph_task_id", None)
    if len(holders) != 2 or task_of is None:
        raise Blind("torch.autograd has no _engine_run_backward, or the engine tells no task id")
    original: Any = getattr(graph, _ENTRY)
    tasks, on_device = _Tasks(watching, task_of), _device_threads(torch)

    @wraps(original)
    def run(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        if on_device() or task_of() >= 0:
            return tasks.feed(original, outputs, args, kwargs)
        return original(outputs, *args, **kwargs)

    watching.regions.outermost(tasks.entering, tasks.left)
    watching.regions.within_too(lambda: task_of() >= 0)
    return in_reverse(*(replaced(holder, _ENTRY, run) for holder in holders))


class _Tasks:
    """Calls of the engine that are under way. Single dictionary stores, so no lock is needed."""

    def __init__(self, watching: Watching, task_of: Any) -> None:
        self._recorder, self._regions = watching.recorder, watching.regions
        self._task_of = task_of
        self._numbers = itertools.count(1)
        self._calls: dict[int, tuple[int, int]] = {}
        self._untied: dict[None, tuple[int, int]] = {}
        self._joined: dict[int, int] = {}
        self._worked: set[int] = set()

    def feed(self, engine: Any, outputs: Any, args: Any, kwargs: Any) -> Any:
        """The engine's work on these outputs, of which other threads may do a part."""
        number, me = next(self._numbers), threading.get_ident()
        call = (number, me)
        tasks: list[int] = []
        alone = self._untied.setdefault(None, call) is call
        handles = [] if alone else self._tied(call, tasks, outputs)
        owed = self._recorder.owe("sync", **_edge("release", f"backward:{number}"))
        try:
            return engine(outputs, *args, **kwargs)
        finally:
            for handle in handles:
                handle.remove()
            for task in tasks:
                self._calls.pop(task, None)
            if alone:
                del self._untied[None]
            self._recorder.forgive(owed)
            if number in self._worked:
                self._worked.discard(number)
                self._recorder.emit("sync", **_edge("acquire", f"backward:{number}:return"))
                self._regions.learnt()

    def _tied(self, call: tuple[int, int], tasks: list[int], outputs: Any) -> list[Any]:
        """Hooks that tie the call to its task when the engine begins, and note the task."""

        def begun(*_: Any) -> None:
            task = self._task_of()
            tasks.append(task)
            self._calls[task] = call

        return [node.register_prehook(begun) for node in _roots(outputs)]

    def entering(self) -> None:
        """A thread's outermost region: if the engine runs it for another thread, say for which."""
        me = threading.get_ident()
        number, caller = self._call_of(self._task_of()) or (0, me)
        if caller != me:
            self._joined[me] = number
            self._recorder.pay(caller)
            self._recorder.emit("sync", **_edge("acquire", f"backward:{number}"))

    def _call_of(self, task: int) -> tuple[int, int] | None:
        """The call that this task of the engine works for; None outside and where none is known."""
        if task < 0:
            return None
        return self._calls.get(task) or self._untied.get(None)

    def left(self) -> None:
        """The end of that region."""
        number = self._joined.pop(threading.get_ident(), None)
        if number is not None:
            self._recorder.emit("sync", **_edge("release", f"backward:{number}:return"))
            self._worked.add(number)


def _edge(edge: str, key: str) -> dict[str, str]:
    return {"edge": edge, "key": key, "what": KIND}


def _roots(outputs: Any) -> list[Any]:
    """The nodes the engine starts from. A leaf has none, and nothing to do on another thread."""
    compiled = sys.modules.get("torch._dynamo.compiled_autograd")
    if getattr(compiled, "compiled_autograd_enabled", False):
        return []
    nodes = (getattr(one, "node", None) or getattr(one, "grad_fn", None) for one in outputs)
    return [node for node in nodes if node is not None]


def _device_threads(torch: Any) -> Callable[[], bool]:
    """Whether autograd may have a thread for a device by now.

    Lazy devices are asked each time, and by their own flag: to look for the device itself would
    initialise a driver, which a process that is about to fork must not have.
    """
    named = getattr(torch._C, "_get_privateuse1_backend_name", lambda: _NO_BACKEND)()
    if named != _NO_BACKEND or torch.backends.mps.is_available():
        return lambda: True
    modules: list[Any] = [getattr(torch, name, None) for name in _LAZY_DEVICES]
    lazy = [module for module in modules if hasattr(module, "_initialized") and _is_built(module)]

    def in_use() -> bool:
        for module in lazy:  # noqa: SIM110 - a generator would cost more than all the rest
            if module._initialized:
                return True
        return False

    return in_use


def _is_built(module: Any) -> bool:
    return bool(getattr(module, "_is_compiled", lambda: True)())
