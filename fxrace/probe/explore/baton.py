"""The baton: one registered thread runs, the others stand at a point, each before its own lock.

Handing over is releasing the other's lock and blocking on one's own. Decisions are made by the
thread that comes to a point, under a mutex held for microseconds; the thread that started the
schedule only watches. It passes over a runner that stands (a *slip*), finds that nobody is left
who can run, and ends the schedule at its time limit. Ending early raises ``Abandoned`` where the
threads stand at points, so that they unwind; one that stands in native code is left behind, and
the process is dirty.

No real lock is replaced: ``block`` and ``unblock`` are told by gates that stand before them.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType

from fxrace.probe.explore.choices import Chooser, Situation, staying
from fxrace.probe.explore.participant import START, Is, Participant, circle_of, stack
from fxrace.probe.explore.played import Block, End, Slip, Step, Stood
from fxrace.probe.explore.standing import Idle, Standing, described, lock_owner
from fxrace.stacks import frames_now

GRACE_S, LOOKS = 0.05, 5
STANDING_S, LIMIT_S = 2.0, 60.0


class Abandoned(BaseException):
    """Unwinds a thread whose schedule is over. No ``except Exception`` of a program catches it."""


Noted = Callable[[], tuple[tuple[str, str], ...]]


def _nothing() -> tuple[tuple[str, str], ...]:
    return ()


class Baton:
    """One schedule. ``join`` in each thread first, ``leave`` last, ``reach`` in between."""

    def __init__(
        self,
        names: Sequence[str],
        chooser: Chooser,
        *,
        grace_s: float = GRACE_S,
        standing_s: float = STANDING_S,
        limit_s: float = LIMIT_S,
        within_s: float | None = None,
        away: Noted = _nothing,
    ) -> None:
        self._threads = [Participant(number, name) for number, name in enumerate(names)]
        self._by_ident: dict[int, Participant] = {}
        self._chooser, self._away = chooser, away
        self._grace_s, self._standing_s, self._limit_s = grace_s, standing_s, limit_s
        self._within_s = within_s or limit_s
        self._process = Idle()
        self._mutex = threading.Lock()
        self._over = threading.Event()
        self._runner: Participant | None = None
        self._abandoned = False
        self.end: End | None = None
        self.steps: list[Step] = []
        self.slips: list[Slip] = []
        self.blocks: list[Block] = []
        self.stood: list[Stood] = []
        self.circle: tuple[str, ...] = ()
        self.drift = ""

    # ---- in the participants -------------------------------------------------------------

    def join(self, number: int) -> None:
        """The current thread is participant ``number``; returns when it is first chosen."""
        me = self._threads[number]
        with self._mutex:
            me.ident, me.native_id = threading.get_ident(), threading.get_native_id()
            me.standing = Standing(me.ident, me.native_id)
            me.state, me.at = Is.READY, START
            self._by_ident[me.ident] = me
            if all(thread.state is not Is.NEW for thread in self._threads):
                self._hand_over(None, me.at)
        self._park(me)

    def leave(self) -> None:
        """The current thread has ended its part."""
        with self._mutex:
            me = self._by_ident.pop(threading.get_ident())
            was_runner = self._runner is me
            me.state, me.at = Is.ENDED, "end"
            if not self._abandoned and (was_runner or self._runner is None):
                self._hand_over(me, me.at)

    def reach(self, what: str, at_most: int | None = None) -> None:
        """The current thread is at a point; it may have to stop here. Others pass by unseen.

        After ``at_most`` visits, it is no point any more.
        """
        me = self._by_ident.get(threading.get_ident())
        if me is None or me.busy_here or me.visits[what] == at_most:
            return
        me.busy_here = True
        try:
            with self._mutex:
                me.visits[what] += 1
                me.at = f"{what}#{me.visits[what]}"
                self._offer(me)
            self._park(me)
        finally:
            me.busy_here = False

    def number(self) -> int | None:
        """Which participant the current thread is."""
        me = self._by_ident.get(threading.get_ident())
        return None if me is None else me.number

    def block(self, lock: str, owner: int, *, patient: bool = True) -> bool:
        """Wait until ``unblock(lock)``; False when it was in vain (``patient`` False only)."""
        me = self._by_ident[threading.get_ident()]
        with self._mutex:
            if not self._abandoned:
                mine, nobody = self._runner is me, self._runner is None
                me.state, me.lock, me.owner, me.patient = Is.BLOCKED, lock, owner, patient
                step = len(self.steps)
                self.blocks.append(Block(step=step, thread=me.number, lock=lock, owner=owner))
                self._note_standing(me)
                if mine or nobody:
                    self._hand_over(me, f"blocked:{lock}")
        self._park(me)
        return me.owner is None

    def unblock(self, lock: str) -> None:
        """The lock is free: those who waited for it can run again."""
        with self._mutex:
            for thread in self._threads:
                if thread.state is Is.BLOCKED and thread.lock == lock:
                    thread.state, thread.owner = Is.READY, None

    # ---- in the thread that watches ------------------------------------------------------

    def watch(self) -> End:
        """Until the schedule is over, however it ends. Bounded by the time limits."""
        began, used = time.monotonic(), time.process_time()
        while not self._over.wait(self._grace_s / LOOKS):
            self._look()
            lasted, worked = time.monotonic() - began, time.process_time() - used
            if lasted > self._within_s or min(lasted, worked) > self._limit_s:
                with self._mutex:
                    self._abandon(End.ENDLESS)
        assert self.end is not None
        return self.end

    def left_behind(self) -> list[Stood]:
        """Those who did not come to a point again, and where they are. For after ``watch``."""
        frames, last = frames_now(), len(self.steps)
        return [
            Stood(step=last, thread=t.number, at=t.at, stack=stack(frames.get(t.ident)))
            for t in self._threads
            if t.state in (Is.RUNNING, Is.PASSED)
        ]

    def _look(self) -> None:
        frames = frames_now()
        self._process.look()
        with self._mutex:
            for thread in self._threads:
                watched = thread.state in (Is.RUNNING, Is.PASSED)
                if thread.standing is not None and watched and thread.ident in frames:
                    thread.standing.look(frames[thread.ident])
            runner = self._runner
            if runner is not None and runner.looks_stood >= LOOKS:
                self._pass_over(runner, frames[runner.ident])
            elif runner is None:
                self._if_nobody_moves()

    def _pass_over(self, runner: Participant, frame: FrameType) -> None:
        self._runner, runner.state = None, Is.PASSED
        owner = self._by_ident.get(lock_owner(frame, runner.ident) or 0)
        step, what = len(self.steps), described(frame)
        if owner is not None and owner is not runner:
            block = Block(step=step, thread=runner.number, lock=what, owner=owner.number)
            self.blocks.append(block)
            runner.owner, runner.lock = owner.number, what
        else:
            told = stack(frame)
            self.slips.append(
                Slip(step=step, thread=runner.number, after=runner.at, what=what, stack=told)
            )
        self._hand_over(None, f"stands:{what}")

    def _if_nobody_moves(self) -> None:
        """Everybody left stands where we cannot help: over when it lasts, or in a circle."""
        passed = [thread for thread in self._threads if thread.state is Is.PASSED]
        if not passed:
            return
        looks = min(self._process.looks, *(thread.looks_stood for thread in passed))
        circle = circle_of(self._threads)
        if circle and looks >= LOOKS:
            self.circle = circle
            self._abandon(End.DEADLOCK)
        elif looks >= self._standing_s / self._grace_s * LOOKS:
            self._abandon(End.STANDING)

    # ---- under the mutex -----------------------------------------------------------------

    def _offer(self, me: Participant) -> None:
        """``me`` is at a point: it stops, and goes on at once if it is the one chosen."""
        if self._abandoned:
            return
        me.moved()
        returned = me.state is Is.PASSED
        me.state, me.owner = Is.READY, None
        if self._runner is me or (returned and self._runner is None):
            self._hand_over(me, me.at)

    def _hand_over(self, current: Participant | None, at: str) -> None:
        """Choose among those who can run, and let that one go."""
        self._runner = None
        runnable = tuple(t.number for t in self._threads if t.state is Is.READY)
        if not runnable:
            self._if_nobody_can_run()
            return
        situation = Situation(
            step=len(self.steps),
            runnable=runnable,
            current=None if current is None else current.number,
            at=at,
        )
        chosen = self._threads[self._choose(situation)]
        self.steps.append(
            Step(runnable=runnable, chosen=chosen.number, current=situation.current, at=at)
        )
        if current is not None and current is not chosen and current.state is Is.READY:
            self._note_standing(current)
        chosen.state, self._runner = Is.RUNNING, chosen
        chosen.moved()
        chosen.gate.release()

    def _choose(self, situation: Situation) -> int:
        if not self.drift:
            chosen = self._chooser(situation)
            if chosen in situation.runnable:
                return chosen
            self.drift = (
                f"step {situation.step}: thread {chosen} was to run, and only "
                f"{', '.join(map(str, situation.runnable))} could, at {situation.at}"
            )
        return staying(situation)

    def _if_nobody_can_run(self) -> None:
        states = {thread.state for thread in self._threads}
        if states == {Is.ENDED}:
            self.end = self.end or End.FINISHED
            self._over.set()
        elif Is.PASSED not in states and Is.BLOCKED in states:
            self._wake_impatient_or_deadlock()

    def _wake_impatient_or_deadlock(self) -> None:
        impatient = [t for t in self._threads if t.state is Is.BLOCKED and not t.patient]
        if impatient:
            impatient[0].state = Is.READY
            self._hand_over(None, f"timeout:{impatient[0].lock}")
            return
        self.circle = circle_of(self._threads)
        self._abandon(End.DEADLOCK)

    def _abandon(self, end: End) -> None:
        """Everybody at a point unwinds; the watcher stops waiting."""
        if self.end is None:
            self.end, self._abandoned = end, True
            for thread in self._threads:
                if thread.state in (Is.READY, Is.BLOCKED):
                    thread.gate.release()
        self._over.set()

    def _note_standing(self, me: Participant) -> None:
        """``me`` stops here and somebody else goes on: this is what a finding shows.

        Before the other is let go, or the States read here could be the other's work already.
        """
        self.stood.append(
            Stood(
                step=max(len(self.steps) - 1, 0),
                thread=me.number,
                at=me.at,
                stack=stack(sys._getframe(1)),
                away=self._away(),
            )
        )

    def _park(self, me: Participant) -> None:
        """Each hand-over opens one gate once, also one's own: so each stop takes it once."""
        if not self._abandoned:
            me.gate.acquire()  # bounded: the watcher opens every gate at the time limit
        if self._abandoned:
            raise Abandoned
