"""One thread per target and per drafter in one process, as in the field: the object under test.

A drafter that fails lets its channel go and stops nobody else; a target that fails stops
everything, since its batches will not come. Main waits and judges nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from fxrace.probe.part import Part
from fxrace.probe.participants import participants
from harness.assembly import Assembly
from harness.channel import Channel, Stopped
from harness.crew import Crew, StartLine
from harness.freeze import frozen
from harness.roles import Feeder, Parcel, Trainer


class Threads:
    """Runs the whole training once."""

    def __init__(self, assembly: Assembly) -> None:
        self._all = assembly
        self._crew = Crew(assembly.failures)
        self._stop = threading.Event()
        self._line = StartLine(len(assembly.trainers))
        window = assembly.plan.preset.queue_depth
        self._channels = [Channel[Parcel](window, self._stop) for _ in assembly.trainers]
        for channel in self._channels:
            channel.end(assembly.plan.steps)

    def run(self) -> None:
        """Warm up, start, wait for every thread. Failures are recorded, not raised."""
        every = self._all
        every.recorder.emit("phase", name="warmup")
        every.warmup.before_threads(every.trainers, every.plan.preset.contexts)
        for trainer, channel in zip(every.trainers, self._channels, strict=True):
            self._crew.start(
                trainer.name, self._drafter(trainer, channel), on_failure=lambda _: None
            )
        for feeder in every.feeders:
            self._crew.start(feeder.name, self._target(feeder), on_failure=self._halt)
        self._line.await_all(every.bound_s)
        with frozen(every.plan, every.attentions, every.recorder):
            every.recorder.emit("phase", name="run")
            self._line.open()
            late = self._crew.join(every.bound_s)
        if late:
            every.recorder.emit("note", text=f"still running at the end: {', '.join(late)}")

    def _drafter(self, trainer: Trainer, channel: Channel[Parcel]) -> Callable[[], None]:
        def work() -> None:
            with participants.taking_part(trainer.name):
                try:
                    self._warm_up(trainer)
                    trainer.consume(channel)
                finally:
                    channel.close()

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
        """Every drafter raises this target's error; every other target stops."""
        for channel in self._channels:
            channel.fail(error)
        self._stop.set()
        for channel in self._channels:
            channel.wake()


part = Part(build=Threads, default=True)
