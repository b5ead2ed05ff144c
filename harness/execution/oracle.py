"""Everything on the main thread, drafters in turn: the reference that no race can touch.

The same targets, drafters and steps as with threads, on the same batches. What differs from it
differs because of threads. Dynamo's recompile limit does not hold here: lengths x devices may be
more than it lets through, and a reference that ran dense would be of other kernels than its trials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from torch import Tensor

from fxrace.probe.part import Part
from fxrace.probe.participants import participants
from harness import self_check
from harness.assembly import Assembly
from harness.freeze import frozen
from harness.meeting import add_up
from harness.roles import Parcel, Trainer

T = TypeVar("T")
LIMIT = 256
"""What Dynamo allows of one code in all, whatever its caches."""


class Oracle:
    """Runs the whole training once. A drafter that fails is left out from there on."""

    def __init__(self, assembly: Assembly) -> None:
        self._all = assembly
        self._failed: set[int] = set()

    def run(self) -> None:
        """Warm up and train. Failures of drafters are recorded, those of targets raised."""
        with limitless():
            self._run()

    def _run(self) -> None:
        every = self._all
        contexts = every.plan.preset.contexts
        every.recorder.emit("phase", name="warmup")
        every.warmup.before_threads(every.trainers, contexts)
        for trainer in every.trainers:
            self._try(trainer, partial(every.warmup.in_drafter, trainer, contexts, 1))
        self._try(every.trainers[0], self._check)
        with frozen(every.plan, every.attentions, every.recorder):
            every.recorder.emit("phase", name="run")
            for trainer in every.trainers:
                trainer.start()
            if every.together:
                for step in range(every.plan.steps):
                    self._round(step)
            else:
                for number in range(every.total):
                    self._turn(number)

    def _check(self) -> None:
        """Compares with plain PyTorch on drafter 0's first batch of each row length."""
        every = self._all
        steps = range(min(every.plan.steps, len(every.plan.preset.contexts)))
        first = every.trainers[0]
        made = [first.bring(self._made(step * len(every.trainers), step)) for step in steps]
        self_check.compare(every, made)

    def _turn(self, number: int) -> None:
        """One batch, one drafter."""
        trainer = self._all.trainers[number % len(self._all.trainers)]
        if trainer.drafter not in self._failed:
            work = self._begun(number)
            self._try(trainer, lambda: self._advance(work))

    def _round(self, step: int) -> None:
        """One step of all drafters in lockstep; when one fails there is nothing to add up."""
        trainers = self._all.trainers
        if self._failed:
            return
        works = [self._begun(step * len(trainers) + index) for index in range(len(trainers))]
        while not self._failed:
            brought: list[list[Tensor] | None] = [
                self._try(trainer, partial(next, work, None))
                for trainer, work in zip(trainers, works, strict=True)
            ]
            if None in brought:
                return
            add_up([tensors for tensors in brought if tensors is not None])

    def _begun(self, number: int) -> Iterator[list[Tensor]]:
        step = number // len(self._all.trainers)
        trainer = self._all.trainers[number % len(self._all.trainers)]
        return trainer.take(self._made(number, step), step)

    def _made(self, number: int, step: int) -> Parcel:
        return self._all.feeders[number % len(self._all.feeders)].make(number, step)

    @staticmethod
    def _advance(work: Iterator[list[Tensor]]) -> None:
        for _ in work:
            raise RuntimeError("a drafter that is alone has nothing to add up")

    def _try(self, trainer: Trainer, work: Callable[[], T]) -> T | None:
        try:
            with participants.taking_part(trainer.name):
                trainer.settle()
                return work()
        except Exception as error:
            self._failed.add(trainer.drafter)
            self._all.failures.record(trainer.name, error)
            return None


@contextmanager
def limitless() -> Iterator[None]:
    """Raises Dynamo's recompile limit for every thread, and as nobody's setting.

    Autograd's device threads compile what runs in backward: from torch 2.12 on they do not see
    what the main thread sets, and before it they would compile under a setting of another's. So
    torch's default is raised, and what this thread has set is put aside. What torch sets meanwhile
    for a while, such as no limit at all in eager flex_attention, holds.
    """
    from torch._dynamo import config
    from torch.utils._config_module import _UNSET_SENTINEL

    name = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"
    entry: Any = config._config[name]
    default, own = entry.default, _swapped(entry, _UNSET_SENTINEL)
    entry.default = LIMIT
    try:
        yield
    finally:
        entry.default = default
        _swapped(entry, own)


def _swapped(entry: Any, value: object) -> object:
    """What this thread has set, before it is replaced; past hooks on settings."""
    held = entry.user_override
    if isinstance(held, ContextVar):
        before: object = held.get()
        held.set(value)
    else:
        before, entry.user_override = held, value
    return before


part = Part(build=Oracle)
