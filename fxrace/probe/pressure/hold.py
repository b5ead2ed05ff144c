"""Hold a thread inside a trace or a compile until another thread makes a compiled call.

The held thread stands where every State it borrowed is off its baseline, so the other thread's
very next compiled call meets it: what chance shows once in a thousand steps happens on the
first. If the other thread enters a trace of its own instead, the first goes on and the second
is held until the first has left, which is the order (A in, B in, A out, B out) that leaves
save-and-restore States stuck.

Each hold is bounded, and is given up at once when no other participant could come: all of them
are gone or wait for a lock.
"""

from __future__ import annotations

import threading
from collections import Counter

from fxrace.probe.part import Part
from fxrace.probe.participants import participants
from fxrace.probe.recorder import Recorder

BOUND_S = 5.0
LOOK_S = 0.02
HOLDS_PER_THREAD = 2


class _Held:
    """One thread standing still. ``why`` is set once, by whoever lets it go."""

    def __init__(self) -> None:
        self.ident = threading.get_ident()
        self.go = threading.Event()
        self.why = "bound"

    def release(self, why: str) -> None:
        if not self.go.is_set():
            self.why = why
            self.go.set()


class Hold:
    """At most ``HOLDS_PER_THREAD`` holds per thread and kind of region."""

    listens = True

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._mutex = threading.Lock()
        self._standing: list[_Held] = []
        self._used: Counter[tuple[int, str]] = Counter()
        self._compiled: set[int] = set()

    def start(self) -> None: ...

    def inside(self, region: str) -> None:
        me = threading.get_ident()
        with self._mutex:
            predecessors = [held for held in self._standing if held.ident != me]
            mine = _Held()
            for held in predecessors:
                held.release("overlap")
            if self._passes(me, region) or not participants.others_able():
                return
            self._used[me, region] += 1
            self._standing.append(mine)
        self._stand(mine, region)

    def _passes(self, me: int, region: str) -> bool:
        """A thread's first compile goes by: held at its door, everybody else would queue for
        ``compile_lock`` and meet none of the traces inside.
        """
        if region == "compile" and me not in self._compiled:
            self._compiled.add(me)
            return True
        return self._used[me, region] >= HOLDS_PER_THREAD

    def left(self, region: str) -> None:  # noqa: ARG002 - any exit lets the others go on
        self._release_others("overlap")

    def called(self) -> None:
        if self._standing:
            self._release_others("call")

    def stop(self) -> None:
        self._release_others("nobody")

    def _release_others(self, why: str) -> None:
        me = threading.get_ident()
        with self._mutex:
            for held in self._standing:
                if held.ident != me:
                    held.release(why)

    def _stand(self, mine: _Held, region: str) -> None:
        looks = 0
        while looks * LOOK_S < BOUND_S and not mine.go.wait(LOOK_S):
            looks += 1
            if not participants.others_able():
                mine.release("nobody")
        with self._mutex:
            self._standing.remove(mine)
        held_s = round(looks * LOOK_S, 3)
        self._recorder.emit("hold", region=region, released_by=mine.why, held_s=held_s)


def build(recorder: Recorder, seed: str) -> Hold:  # noqa: ARG001 - every part is built so
    return Hold(recorder)


part = Part(build=build, default=True)
