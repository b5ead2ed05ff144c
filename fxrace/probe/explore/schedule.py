"""One schedule in this process: threads started, run under a baton, recorded as Played.

``exploring`` puts the hooks on once; each ``Stage.play`` then runs one schedule. A process is
good for schedules until one leaves it dirty (``Played.is_dirty``): a State off its baseline, or
a thread that never came back. Playing another one in it would blame the wrong schedule.

No garbage is collected while a schedule runs: finalisers call into torch whenever a collection
happens to come, and would be points in one run and not in the next.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fxrace.probe.attach import attached_to
from fxrace.probe.explore import gates
from fxrace.probe.explore.baton import GRACE_S, LIMIT_S, STANDING_S, Abandoned, Baton
from fxrace.probe.explore.choices import Chooser
from fxrace.probe.explore.current import Current
from fxrace.probe.explore.played import Ended, Played, Stood
from fxrace.probe.explore.points import Grain, borders, followed, owners
from fxrace.probe.explore.points.entries import Entries
from fxrace.probe.explore.points.followed import Following, Sight
from fxrace.probe.explore.points.writes import Writes
from fxrace.probe.explore.program import Body, Program
from fxrace.probe.explore.watched import Watched
from fxrace.probe.failure import described
from fxrace.probe.pressure.none import NoPressure
from fxrace.probe.recorder import Recorder
from fxrace.probe.regions import Regions
from fxrace.probe.watching import Watching

JOIN_S = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Seconds: until a standing runner is passed over, until all standing is the end, for all.

    ``within_s``, where given, lets a schedule last longer than ``limit_s`` as long as it has not
    had so much of a processor: a busy machine is then no reason to end it.
    """

    grace_s: float = GRACE_S
    standing_s: float = STANDING_S
    limit_s: float = LIMIT_S
    within_s: float | None = None


class Stage:
    """Where schedules are played, one at a time, by one thread that takes no part."""

    def __init__(
        self,
        current: Current,
        *,
        watched: Watched | None = None,
        limits: Limits | None = None,
        following: Following = nullcontext,
        entries: Entries | None = None,
        sight: Sight | None = None,
    ) -> None:
        self._current, self.watched, self._limits = current, watched, limits or Limits()
        self._following, self._entries, self._sight = following, entries, sight
        self._modules = len(sys.modules)

    def _look_around(self) -> None:
        """Modules that were imported since bring States and their owners with them."""
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            if self.watched is not None:
                self.watched.refresh()
            if self._sight is not None:
                self._sight.extend(owners.codes())

    def play(self, program: Program, chooser: Chooser) -> Played:
        """Run one schedule to whatever end it comes to. Bounded by ``limits``."""
        bodies = program.prepare()
        self._look_around()
        if self._entries is not None:
            self._entries.begin(program.everywhere)
        baton = Baton(
            program.names,
            chooser,
            grace_s=self._limits.grace_s,
            standing_s=self._limits.standing_s,
            limit_s=self._limits.limit_s,
            within_s=self._limits.within_s,
            **({} if self.watched is None else {"away": self.watched.off}),
        )
        began = time.monotonic()
        ended, left = self._run(baton, program, bodies)
        stood = [*baton.stood, *left]
        return Played(
            names=tuple(program.names),
            steps=tuple(baton.steps),
            ended=ended,
            end=baton.end,  # type: ignore[arg-type]
            slips=tuple(baton.slips),
            blocks=tuple(baton.blocks),
            circle=baton.circle,
            stood=tuple(stood),
            deviations=() if self.watched is None else self.watched.deviations(stood),
            drift=baton.drift,
            lasted_s=time.monotonic() - began,
        )

    def _run(
        self, baton: Baton, program: Program, bodies: Any
    ) -> tuple[tuple[Ended, ...], list[Stood]]:
        results: dict[int, Ended] = {}
        threads = [
            threading.Thread(
                target=self._play_part,
                args=(baton, number, body, results),
                name=name,
                daemon=True,
            )
            for number, (name, body) in enumerate(zip(program.names, bodies, strict=True))
        ]
        self._current.baton = baton
        collecting = gc.isenabled()
        gc.disable()
        try:
            for thread in threads:
                thread.start()
            baton.watch()
            left = baton.left_behind()
            until = time.monotonic() + JOIN_S
            for thread in threads:
                thread.join(max(0.0, until - time.monotonic()))
        finally:
            self._current.baton = None
            if collecting:
                gc.enable()
        ended = (results.get(n, Ended(thread=name)) for n, name in enumerate(program.names))
        return tuple(_condensed(one, program) for one in ended), left

    def _play_part(self, baton: Baton, number: int, body: Body, results: dict[int, Ended]) -> None:
        name = threading.current_thread().name
        try:
            baton.join(number)
            with self._following():
                result = body()
            results[number] = Ended(thread=name, returned=True, result=result)
        except Abandoned:
            pass
        except BaseException as error:
            results[number] = Ended(thread=name, error=described(error))
        finally:
            baton.leave()


def _condensed(ended: Ended, program: Program) -> Ended:
    if not ended.returned:
        return ended
    try:
        return Ended(thread=ended.thread, returned=True, result=program.condense(ended.result))
    except Exception as error:
        return Ended(thread=ended.thread, error=described(error))


@contextmanager
def exploring(
    grain: str | Grain = Grain.REGION,
    *,
    recorder: Recorder | None = None,
    limits: Limits | None = None,
    current: Current | None = None,
) -> Iterator[Stage]:
    """Hooks, gates and points on; everything is taken off again when the block ends.

    ``current`` is for gates of the caller's own, which then see the schedules of this stage.

    Raises ``hooks.Blind`` where this interpreter cannot follow at this grain.
    """
    with ExitStack() as stack:
        if recorder is None:
            recorder = Recorder(Path(os.devnull))
            stack.callback(recorder.close)
        owned = owners.codes()
        pressure, current = NoPressure(), current or Current()
        regions = Regions(recorder, pressure)
        watching = Watching(recorder=recorder, regions=regions, pressure=pressure)
        stack.enter_context(attached_to(watching))
        stack.callback(gates.attach(current))
        stack.callback(borders.attach(regions, current))
        watched = Watched()
        writes = Writes(watched, current) if Grain(grain) is not Grain.REGION else None
        entries = Entries(regions.within, current) if Grain(grain) is Grain.CALL else None
        following: Following = nullcontext
        sight = None
        if writes is not None:
            below = (followed.torch_folder(),)
            sight = Sight(owners=owned, writes=writes, entries=entries, below=below)
            following, off = followed.best(sight)
            stack.callback(off)
        yield Stage(
            current,
            watched=watched,
            limits=limits,
            following=following,
            entries=entries,
            sight=sight,
        )


def bare(limits: Limits | None = None) -> tuple[Stage, Current]:
    """A stage without torch, hooks or States; points are what the bodies reach themselves."""
    current = Current()
    return Stage(current, limits=limits), current
