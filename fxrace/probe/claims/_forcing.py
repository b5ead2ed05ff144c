"""Brings two threads into the positions an experiment asks for: by events, never by luck.

A Stop is a place where the next thread that comes by waits until it is let go. It is reached from
inside an FX trace (through the hooks' pressure seam) or from code that an experiment traces. Every
wait is bounded, and a position that was not reached is told (``forced`` False), never assumed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from fxrace.records.claims import Value

BOUND_S = 60.0
#: How long a thread waits to be let go: longer than what the other one does meanwhile.
HELD_S = 40.0
ERROR_KEPT = 160


class Stop:
    """Where one thread waits. ``missed`` once its wait ran out."""

    def __init__(self) -> None:
        self.reached, self.go = threading.Event(), threading.Event()
        self.missed = False

    def arrive(self) -> None:
        """Called by the thread that is to wait here; later ones pass."""
        if self.reached.is_set():
            return
        self.reached.set()
        self.missed = not self.go.wait(HELD_S)


class Stops:
    """The pressure of an experiment: each armed Stop takes the next thread inside a trace."""

    listens = False

    def __init__(self) -> None:
        self._armed: deque[Stop] = deque()

    def in_next_trace(self) -> Stop:
        """A Stop that the next thread reaches which has FX's States borrowed."""
        stop = Stop()
        self._armed.append(stop)
        return stop

    def start(self) -> None: ...

    def inside(self, region: str) -> None:
        """The current thread is in a region; a planted fault calls this as a real trace does."""
        if region == "trace" and self._armed:
            self._armed.popleft().arrive()

    def left(self, region: str) -> None: ...

    def called(self) -> None: ...

    def stop(self) -> None: ...


class Contended:
    """A lock that lets a stopped holder go on as soon as somebody has to wait for it."""

    def __init__(self, stop: Stop) -> None:
        self._lock, self._stop = threading.Lock(), stop

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self._stop.go.set()
            if not self._lock.acquire(timeout=BOUND_S):
                raise TimeoutError("the lock was not given back")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()


@dataclass(frozen=True, kw_only=True, slots=True)
class Met:
    """How two threads came out of a forced position: the errors they raised, if any."""

    forced: bool
    a: BaseException | None
    b: BaseException | None

    def told(self) -> dict[str, Value]:
        """``forced``, ``failed``, and what was raised on which side, as one line or None."""
        sides = ((name, one_line(error)) for name, error in (("a", self.a), ("b", self.b)))
        symptoms = [f"thread {name}: {line}" for name, line in sides if line is not None]
        return {
            "forced": self.forced,
            "failed": bool(symptoms),
            "symptom": "; ".join(symptoms) or None,
        }


class Pair:
    """Two threads, ``a`` and ``b``, that outlive what they are given to do."""

    def __init__(self) -> None:
        self._a, self._b = (ThreadPoolExecutor(1, thread_name_prefix=name) for name in "ab")

    def in_turn(self, a: Callable[[], Any], b: Callable[[], Any]) -> None:
        """First ``a``, then ``b``, as one lock round both would have it. Raises what they raise."""
        self._a.submit(a).result(BOUND_S)
        self._b.submit(b).result(BOUND_S)

    def beside(self, a: Callable[[], Any], b: Callable[[], Any], stop: Stop) -> Met:
        """``a`` waits at the stop, ``b`` runs to its end, then ``a`` goes on."""
        first = self._a.submit(_then, a, stop.reached)
        there = stop.reached.wait(BOUND_S) and not first.done()
        second = self._b.submit(_then, b, stop.go)
        return _met(first, second, forced=there, stops=(stop,))

    def overlapped(self, a: Callable[[], Any], b: Callable[[], Any], stops: Stops) -> Met:
        """a in, b in, a out, b out: the order that a saved and restored global does not survive."""
        at_a, at_b = stops.in_next_trace(), stops.in_next_trace()
        first = self._a.submit(_then, a, at_a.reached)
        there = at_a.reached.wait(BOUND_S) and not first.done()
        second = self._b.submit(_then, b, at_b.reached)
        both = at_b.reached.wait(HELD_S)
        # A b that failed on its way in did meet a; one that came through without a trace did not.
        met = both and (not second.done() or second.exception() is not None)
        at_a.go.set()
        wait((first,), BOUND_S)
        at_b.go.set()
        return _met(first, second, forced=there and met, stops=(at_a, at_b))


def _then(work: Callable[[], Any], ended: threading.Event) -> Any:
    """Whoever waits for this thread's position need not wait longer than the thread lives."""
    try:
        return work()
    finally:
        ended.set()


def _met(first: Future[Any], second: Future[Any], *, forced: bool, stops: tuple[Stop, ...]) -> Met:
    done, _ = wait((first, second), BOUND_S)
    kept = len(done) == 2 and not any(stop.missed for stop in stops)
    errors = (one.exception() if one.done() else None for one in (first, second))
    a, b = errors
    return Met(forced=forced and kept, a=a, b=b)


def one_line(error: BaseException | None) -> str | None:
    """Type and first sentence of the root cause, short enough for a table."""
    if error is None:
        return None
    while error.__cause__ is not None:
        error = error.__cause__
    line = (str(error).splitlines() or [""])[0].partition(". ")[0]
    return f"{type(error).__name__}: {line}"[:ERROR_KEPT].rstrip(": ")
