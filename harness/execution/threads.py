"""One thread per target and per drafter in one process, as in the field: the object under test.

A drafter that fails lets its channel go; it stops nobody else as long as nobody depends on it
(drafters that share gradients do, and ``fail_fast`` says that everybody does): who survives a race
is what a sweep wants to know. Any other role that fails stops everything. Main waits and judges
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fxrace.probe.part import Part
from fxrace.probe.participants import participants
from harness.assembly import Assembly
from harness.channel import Channel, Stopped
from harness.crew import Crew, StartLine
from harness.figures.gil import GilShare
from harness.freeze import frozen
from harness.meeting import NAME as COORDINATOR
from harness.meeting import AtBarrier, Coordinated
from harness.roles import Feeder, Parcel, Trainer

LEAVE_S = 2.0
"""How long main waits for the others when it fails itself."""


class Threads:
    """Runs the whole training once."""

    def __init__(self, assembly: Assembly) -> None:
        self._all = assembly
        self._crew = Crew(assembly.failures)
        self._stop = assembly.stop
        self._line = StartLine(len(assembly.trainers))
        self._channels = assembly.channels()
        members = len(assembly.trainers)
        self._coordinator = Coordinated(members, self._stop) if assembly.coordinated else None
        self._meeting = self._coordinator or AtBarrier(members, self._stop)
        for channel in self._channels:
            channel.end(assembly.plan.steps)
        self._gil = self._sampled() if assembly.plan.gil_share else None

    def run(self) -> None:
        """Warm up, start, wait for every thread. Failures are recorded, not raised."""
        every = self._all
        every.recorder.emit("phase", name="warmup")
        every.warmup.before_threads(every.trainers, every.plan.preset.contexts)
        try:
            late = self._run()
        except BaseException:  # main's own, or Ctrl-C: nobody is left behind
            self._stopped()
            self._crew.join(LEAVE_S)
            raise
        finally:
            if self._gil is not None:
                self._gil.close()
        every.record_queues(self._channels)
        if late:
            every.recorder.emit("note", text=f"still running at the end: {', '.join(late)}")

    def _run(self) -> tuple[str, ...]:
        """The names of the roles that have not ended within the bound."""
        every = self._all
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
            return self._crew.join(every.bound_s)

    def _sampled(self) -> GilShare:
        plan, trainers = self._all.plan, self._all.trainers
        gil = GilShare(
            self._all.recorder, drafters=len(trainers), warm=2 * len(plan.preset.contexts),
            steps=plan.steps,
        )  # fmt: skip
        for trainer in trainers:
            trainer.stepped = gil.stepped
        return gil

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
            # First, since others may wait for this one in it: whatever fails must fail inside.
            every.warmup.in_drafter(trainer, every.plan.preset.contexts, len(every.trainers))
            trainer.settle()
        finally:
            self._line.arrive()
        with participants.waiting("the start"):
            if not self._line.await_open(every.bound_s):
                raise Stopped

    def _target(self, feeder: Feeder) -> Callable[[], None]:
        def work() -> None:
            feeder.serve(self._channels, self._all.total)
            if self._stop.is_set():
                raise Stopped

        return work

    def _halt(self, error: BaseException) -> None:
        """Every drafter raises the error it depends on; whoever waits anywhere is let go."""
        for channel in self._channels:
            channel.fail(error)
        self._stopped()

    def _stopped(self) -> None:
        self._stop.set()
        for channel in self._channels:
            channel.wake()
        self._meeting.wake()


part = Part(build=Threads, default=True)
