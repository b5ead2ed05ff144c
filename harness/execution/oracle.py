"""Everything on the main thread, drafters in turn: the reference that no race can touch.

The same targets, drafters and steps as with threads, on the same batches. What differs from it
differs because of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fxrace.probe.part import Part
from fxrace.probe.participants import participants
from harness.assembly import Assembly
from harness.freeze import frozen
from harness.roles import Trainer


class Oracle:
    """Runs the whole training once. A drafter that fails is left out from there on."""

    def __init__(self, assembly: Assembly) -> None:
        self._all = assembly
        self._failed: set[int] = set()

    def run(self) -> None:
        """Warm up and train. Failures of drafters are recorded, those of targets raised."""
        every = self._all
        contexts = every.plan.preset.contexts
        every.recorder.emit("phase", name="warmup")
        every.warmup.before_threads(every.trainers, contexts)
        for trainer in every.trainers:
            self._try(trainer, partial(every.warmup.in_drafter, trainer, contexts, 1))
        with frozen(every.plan, every.attentions, every.recorder):
            every.recorder.emit("phase", name="run")
            for trainer in every.trainers:
                trainer.start()
            for number in range(every.total):
                self._turn(number)

    def _turn(self, number: int) -> None:
        every = self._all
        trainer = every.trainers[number % len(every.trainers)]
        if trainer.drafter in self._failed:
            return
        step = number // len(every.trainers)
        parcel = every.feeders[number % len(every.feeders)].make(number, step)
        self._try(trainer, lambda: trainer.take(parcel, step))

    def _try(self, trainer: Trainer, work: Callable[[], None]) -> None:
        try:
            with participants.taking_part(trainer.name):
                trainer.settle()
                work()
        except Exception as error:
            self._failed.add(trainer.drafter)
            self._all.failures.record(trainer.name, error)


part = Part(build=Oracle)
