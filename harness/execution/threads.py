"""One thread per target and per drafter in one process, as in the field: the object under test.

A drafter that fails lets its channel go; it stops nobody else as long as nobody depends on it
(drafters that share gradients do, and ``fail_fast`` says that everybody does). A target that fails
stops everything, since its batches will not come. Main waits and judges nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from fxrace.probe.part import Part
from fxrace.probe.participants import participants
from harness.assembly import Assembly
from harness.channel import Channel, Stopped
from harness.crew import Crew, StartLine
from harness.freeze import frozen
from harness.meeting import NAME as COORDINATOR
from harness.meeting import AtBarrier, Coordinated
from harness.roles import Feeder, Parcel, Trainer


class Threads:
    """Runs the whole training once."""

    def __init__(self, assembly: Assembly) -> None:
        self._all = assembly
        self._crew = Crew(assembly.failures)
        self._stop = threading.Event()
        self._line = StartLine(len(assembly.trainers))
        self._channels = assembly.channels(self._stop)
        members = len(assembly.trainers)
        self._coordinator = Coordinated(members, self._stop) if assembly.coordinated else None
        self._meeting = self._coordinator or AtBarrier(members, self._stop)
        for channel in self._channels:
            channel.end(assembly.plan.steps)

    def run(self) -> None:
        """Warm up, start, wait for every thread. Failures are recorded, not raised."""
        every = self._all
        every.recorder.emit("phase", name="warmup")
        every.warmup.before_threads(every.trainers, every.plan.preset.contexts)
        alone = not (every.together or every.plan.fail_fast)
        for trainer, channel in zip(every.trainers, self._channels, strict=True):
            self._crew.start(
                trainer.name,
                self._drafter(trainer, channel),
                on_failure=(lambda _: None) if alone else self._halt,
            )
        for feeder in every.feeders:
            self._crew.start(feeder.name, self._target(feeder), on_failure=self._halt)
        if self._coordinator is not None:
            self._crew.start(COORDINATOR, self._coordinator.serve, on_failure=self._halt)
        self._line.await_all(every.bound_s)
        with frozen(every.plan, every.attentions, every.recorder):
            every.recorder.emit("phase", name="run")
            self._line.open()
            late = self._crew.join(every.bound_s)
        every.record_queues(self._channels)
        if late:
            every.recorder.emit("note", text=f"still running at the end: {', '.join(late)}")

    def _drafter(self, trainer: Trainer, channel: Channel[Parcel]) -> Callable[[], None]:
        def work() -> None:
            with participants.taking_part(trainer.name):
                try:
                    self._warm_up(trainer)
                    trainer.consume(channel, partial(self._meeting.add, trainer.drafter))
                finally:
                    channel.close()
            if self._coordinator is not None:
                self._coordinator.close()

        return work

    def _warm_up(self, trainer: Trainer) -> None:
        every = self._all
        try:
            trainer.settle()
            every.warmup.in_drafter(trainer, every.plan.preset.contexts, len(every.trainers))
        finally:
            self._line.arrive()
        with participants.waiting("the start"):
            if not self._line.await_open(every.bound_s):
                raise Stopped

    def _target(self, feeder: Feeder) -> Callable[[], None]:
        return lambda: feeder.serve(self._channels, self._all.total)

    def _halt(self, error: BaseException) -> None:
        """Every drafter raises the error it depends on; whoever waits anywhere is let go."""
        self._stop.set()
        for channel in self._channels:
            channel.fail(error)
            channel.wake()
        self._meeting.wake()


part = Part(build=Threads, default=True)
