"""The program's own order: threads, queues, futures, executors, events and barriers.

What one thread did before it handed something over comes before what the other does after it
took it; without these edges two traces one after the other would pass for a race. Python-level
classes of the standard library are wrapped, each method once, for all objects made before or
after. ``queue.SimpleQueue`` is C: those made while the hooks are on, by that name, are of a class
of ours below it. Plain locks are C and left alone; those that a thread holds by a ``with`` block
round a region are read from its stack. Events that ``threading`` makes for itself are left
alone: they are set while a thread is not yet its own.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import thread as executor
from functools import wraps
from typing import Any

from fxrace.probe.edges import Edges
from fxrace.probe.held_locks import held_now
from fxrace.probe.hooks import Detach, in_reverse, replaced
from fxrace.probe.participants import participants
from fxrace.probe.watching import Watching

KNOWN = "Python 3.10 to 3.14; no torch"

_Wrapped = Callable[..., Any]
_INTERNAL = "threading"


def attach(watching: Watching) -> Detach:
    edges = Edges(watching.recorder, watching.regions)
    locks = _PlainLocks(edges)
    watching.regions.outermost(locks.entering, locks.leaving)
    return in_reverse(
        replaced(queue, "SimpleQueue", _simple_queue(edges)),
        _wrap(threading.Thread, "start", lambda real: _start(edges, real)),
        _wrap(threading.Thread, "join", lambda real: _join(edges, real)),
        _wrap(queue.Queue, "put", lambda real: _releases(edges, "queue", real)),
        _wrap(queue.Queue, "get", lambda real: _acquires(edges, "queue", real)),
        _wrap(Future, "set_result", lambda real: _releases(edges, "future", real)),
        _wrap(Future, "set_exception", lambda real: _releases(edges, "future", real)),
        _wrap(Future, "result", lambda real: _result(edges, real)),
        _wrap(Future, "exception", lambda real: _result(edges, real)),
        _wrap(executor._WorkItem, "__init__", lambda real: _submitted(edges, real)),
        _wrap(executor._WorkItem, "run", lambda real: _taken_up(edges, real)),
        _wrap(threading.Event, "set", lambda real: _set(edges, real)),
        _wrap(threading.Event, "wait", lambda real: _waited(edges, real)),
        _wrap(threading.Barrier, "wait", lambda real: _barrier(edges, real)),
    )


def _wrap(holder: type, name: str, around: Callable[[_Wrapped], _Wrapped]) -> Detach:
    real = vars(holder)[name]
    return replaced(holder, name, wraps(real)(around(real)))


def _start(edges: Edges, real: _Wrapped) -> _Wrapped:
    def start(self: threading.Thread) -> None:
        edges.starts(self)
        real(self)

    return start


def _join(edges: Edges, real: _Wrapped) -> _Wrapped:
    def join(self: threading.Thread, timeout: float | None = None) -> None:
        with participants.idle("thread"):
            real(self, timeout)
        if not self.is_alive():
            edges.joined(self)

    return join


def _releases(edges: Edges, what: str, real: _Wrapped) -> _Wrapped:
    def released(self: Any, *args: Any, **kwargs: Any) -> Any:
        edges.release(self, what)
        return real(self, *args, **kwargs)

    return released


def _acquires(edges: Edges, what: str, real: _Wrapped) -> _Wrapped:
    def acquired(self: Any, *args: Any, **kwargs: Any) -> Any:
        with participants.idle(what):
            got = real(self, *args, **kwargs)
        edges.acquire(self, what)
        return got

    return acquired


def _set(edges: Edges, real: _Wrapped) -> _Wrapped:
    def set_(self: threading.Event) -> None:
        if not _internal():
            edges.release(self, "event")
        real(self)

    return set_


def _waited(edges: Edges, real: _Wrapped) -> _Wrapped:
    def wait(self: threading.Event, timeout: float | None = None) -> bool:
        if _internal():
            return bool(real(self, timeout))
        with participants.idle("event"):
            happened = bool(real(self, timeout))
        if happened:
            edges.acquire(self, "event")
        return happened

    return wait


def _result(edges: Edges, real: _Wrapped) -> _Wrapped:
    def result(self: Future[Any], timeout: float | None = None) -> Any:
        try:
            with participants.idle("future"):
                return real(self, timeout)
        finally:
            if self.done():
                edges.acquire(self, "future")

    return result


def _submitted(edges: Edges, real: _Wrapped) -> _Wrapped:
    def submitted(self: Any, *args: Any, **kwargs: Any) -> None:
        real(self, *args, **kwargs)
        edges.release(self, "executor")

    return submitted


def _taken_up(edges: Edges, real: _Wrapped) -> _Wrapped:
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        edges.acquire(self, "executor")
        return real(self, *args, **kwargs)

    return run


def _barrier(edges: Edges, real: _Wrapped) -> _Wrapped:
    def wait(self: threading.Barrier, timeout: float | None = None) -> int:
        edges.release(self, "barrier")
        with participants.idle("barrier"):
            turn = int(real(self, timeout))
        edges.acquire(self, "barrier")
        return turn

    return wait


class _PlainLocks:
    """The plain locks that were held round each thread's outermost region, while it lasts.

    They are held at both its borders, so whoever holds one of them at a later region comes after.
    """

    def __init__(self, edges: Edges) -> None:
        self._edges = edges
        self._held: dict[int, list[Any]] = {}

    def entering(self) -> None:
        held = held_now()
        if held:
            self._held[threading.get_ident()] = held
        for lock in held:
            self._edges.acquire(lock, "with")

    def leaving(self) -> None:
        for lock in self._held.pop(threading.get_ident(), ()):
            self._edges.release(lock, "with")


def _simple_queue(edges: Edges) -> type:
    real = queue.SimpleQueue

    class SimpleQueue(real):  # type: ignore[misc,valid-type]
        """``queue.SimpleQueue``, with its hand-overs on record."""

        def __new__(cls) -> Any:
            """An executor's own queue is left alone: its work items are told already."""
            maker = str(sys._getframe(1).f_globals.get("__name__"))
            return real() if maker.startswith("concurrent.") else super().__new__(cls)

        def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:  # noqa: FBT001, FBT002
            edges.release(self, "queue")
            super().put(item, block, timeout)

        def get(self, block: bool = True, timeout: float | None = None) -> Any:  # noqa: FBT001, FBT002
            with participants.idle("queue"):
                item = super().get(block, timeout)
            edges.acquire(self, "queue")
            return item

        def put_nowait(self, item: Any) -> None:
            self.put(item, block=False)

        def get_nowait(self) -> Any:
            return self.get(block=False)

    SimpleQueue.__module__, SimpleQueue.__qualname__ = real.__module__, real.__qualname__
    return SimpleQueue


def _internal() -> bool:
    """True when ``threading`` itself calls, two frames up."""
    return sys._getframe(2).f_globals.get("__name__") == _INTERNAL
