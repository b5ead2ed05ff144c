"""What a target thread and a drafter thread do, one batch at a time.

Routing is fixed: batch i is for drafter i % D and is its step i // D; its rows have length
``contexts[step % len(contexts)]``; target i % T makes it. So a run computes the same numbers
however its threads are scheduled, and so does the oracle that has no threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from fxrace.probe.recorder import Recorder
from harness.channel import Channel
from harness.config import Plan
from harness.contracts import Graphs
from harness.data.corpora import corpus_of
from harness.devices import settle
from harness.figures.counters import PerThread
from harness.figures.stall import Stall
from harness.model.target import Target
from harness.model.training import Batch
from harness.step import Drafting, Result

NO_WEIGHTS = nn.Module()
"""What a target's work leaves gradients in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parcel:
    """A batch on its way. ``ready`` is the CUDA event after which its features exist; ``made_s``
    is when it was handed over, on the machine's monotonic clock.
    """

    batch: Batch
    ready: Any = None
    made_s: float = 0.0

    @property
    def size_bytes(self) -> int:
        """What it takes on the device that it lies on; borders of packed rows are not counted."""
        batch = self.batch
        return sum(t.nbytes for t in (batch.input_ids, batch.loss_mask, batch.features))


class Door(Protocol):
    """The end of a channel at which parcels go in; see ``harness.channel.Channel``."""

    def await_turn(self, position: int) -> bool: ...

    def put(self, position: int, item: Parcel) -> bool: ...


class Feeder:
    """Target slot ``index``: turns rows into features with the frozen target of its device.

    Without ``graphs`` it calls the target, whatever that does on the host.
    """

    def __init__(
        self, *, index: int, plan: Plan, target: Target, graphs: Graphs | None = None
    ) -> None:
        self.name = f"target-{index}"
        self._index, self._plan, self.target, self._graphs = index, plan, target, graphs
        self._device = plan.target_devices[index]
        self._text = corpus_of(plan)

    def serve(self, channels: Sequence[Door], total: int) -> None:
        """Make this target's share of ``total`` batches; those nobody waits for are left out."""
        settle(self._device, self._plan.preset.intraop_threads)
        for number in range(self._index, total, len(self._plan.target_devices)):
            drafter, step = number % len(channels), number // len(channels)
            if channels[drafter].await_turn(step):
                channels[drafter].put(step, self.make(number, step))

    def make(self, number: int, step: int) -> Parcel:
        """Batch ``number`` of the run, with features, on this target's device."""
        preset = self._plan.preset
        rows = self._text.rows(
            seed=self._plan.seed,
            index=number,
            rows=preset.rows,
            context=preset.contexts[step % len(preset.contexts)],
        )
        input_ids, _, *starts = rows
        features = self._features(input_ids.to(self._device), *starts)
        return Parcel(batch=Batch.of(rows, features), ready=self._event(), made_s=time.monotonic())

    def _features(self, input_ids: Tensor, *starts: Tensor) -> Tensor:
        if self._graphs is None:
            return self.target.features(input_ids, *starts)
        inputs = (input_ids, *(given.to(self._device) for given in starts))
        (features,) = self._graphs.run(
            (input_ids.shape[1],), inputs, lambda *given: (self.target.features(*given),),
            NO_WEIGHTS,
        )  # fmt: skip
        return features

    def _event(self) -> Any:
        if not self._device.startswith("cuda"):
            return None
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(self._device))
        return event


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One finished step for the summary, from ``began_s`` to ``ended_s`` on one clock.

    A step begins when this drafter's previous one ended: waiting for features and locks is part
    of it, and in the oracle so are the other drafters. ``compiled`` when this thread compiled
    in it. Of its time, ``queue_s`` passed until features were there, ``handoff_s`` from then until
    this drafter had them, and ``lock_wait_s`` in the locking part. ``reach`` as in
    ``harness.step.Result``.
    """

    began_s: float
    ended_s: float
    slots: int
    context: int
    compiled: bool
    queue_s: float = 0.0
    handoff_s: float = 0.0
    lock_wait_s: float = 0.0
    reach: float | None = None


def _nobody_asked(drafter: int, done: int) -> None:
    """What a trainer calls after each step unless somebody wants to know."""


class Trainer:
    """Drafter slot ``drafter``: takes parcels in order, trains, and records every step.

    ``stepped`` is called on its thread after each of them with ``drafter`` and their number.
    """

    def __init__(
        self, *, drafting: Drafting, plan: Plan, recorder: Recorder, compiles: PerThread
    ) -> None:
        self.drafter = drafting.index
        self.name = f"drafter-{self.drafter}"
        self.turns: list[Turn] = []
        self.drafting, self._plan = drafting, plan
        self._recorder, self._compiles = recorder, compiles
        self._before = (time.monotonic(), 0)
        self._stall = Stall(drafting.device)
        self.stepped: Callable[[int, int], None] = _nobody_asked

    def settle(self) -> None:
        """Make the current thread fit to run this drafter."""
        settle(str(self.drafting.device), self._plan.preset.intraop_threads)

    def rehearse(self, context: int) -> None:
        """See ``harness.contracts.Rehearsal``; callable from any thread."""
        self.settle()
        self.drafting.rehearse(context)

    def start(self) -> None:
        """The first step's time begins now."""
        self._before = (time.monotonic(), self._compiles.here)

    def consume(self, channel: Channel[Parcel], add: Callable[[list[Tensor]], None]) -> None:
        """Train on every parcel of the channel, in order, until its end mark.

        ``add`` replaces tensors by their sums over all drafters; it waits for the others.
        """
        self.start()
        step = 0
        while (parcel := channel.get()) is not None:
            for tensors in self.take(parcel, step):
                add(tensors)
            step += 1

    def take(self, parcel: Parcel, step: int) -> Iterator[list[Tensor]]:
        """Bring the parcel here, train on it and record the step; yields as ``Drafting.steps``."""
        began = time.monotonic()
        batch = self.bring(parcel)
        result = yield from self.drafting.steps(batch, step)
        # From when the batch was there and this drafter wanted it.
        handed = began - max(parcel.made_s, self._before[0])
        self._record(batch, step, began, handed, result)

    def _record(self, batch: Batch, step: int, began: float, handed: float, result: Result) -> None:
        now, compiles = time.monotonic(), self._compiles.here
        waited, stalled = began - self._before[0], self._stall.seconds()
        turn = Turn(
            began_s=self._before[0],
            ended_s=now,
            slots=result.slots,
            context=batch.context,
            compiled=compiles > self._before[1],
            queue_s=waited - handed + stalled,
            handoff_s=handed,
            lock_wait_s=result.lock_wait_s,
            reach=result.reach,
        )
        packed = {} if batch.documents is None else {"documents": batch.documents}
        preset = self._plan.preset
        self._recorder.emit(
            "step",
            drafter=self.drafter,
            step=step,
            context=batch.context,
            loss=result.loss,
            grad_norm=result.grad_norm,
            step_s=round(turn.ended_s - turn.began_s, 6),
            wait_s=round(waited, 6),
            stall_s=round(stalled, 6),
            handoff_s=round(handed, 6),
            lock_wait_s=round(result.lock_wait_s, 6),
            rows=preset.rows,
            anchors=preset.rows * preset.drafter.anchors,
            slots=result.slots,
            correct=result.correct,
            context_tokens=preset.rows * batch.context,
            compiles=compiles,
            **packed,
        )
        self._before = (now, compiles)
        self.turns.append(turn)
        self.stepped(self.drafter, len(self.turns))

    def bring(self, parcel: Parcel) -> Batch:
        """The batch on this drafter's device, ordered after the kernels that made it."""
        if parcel.ready is not None:
            source = parcel.batch.features.device
            torch.cuda.current_stream(source).wait_event(parcel.ready)
        self._stall.begin(parcel.ready)
        return parcel.batch.on(self.drafting.device)
