"""Builds everything one trial runs: parts, placement, targets, drafters.

One target is loaded per device, not per slot: it is frozen, so slots that share a device share
it, and each drafter's device gets its own copy of the borrowed embedding and head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from fxrace.probe.part import Part
from fxrace.probe.recorder import Recorder
from harness import parts
from harness.compiles import count_compiles
from harness.config import DEFAULT_KNOBS, Plan
from harness.contracts import Attention, Locking, Warmup
from harness.counters import Counters
from harness.crew import Failures
from harness.devices import settle
from harness.model.pretrain import load_target
from harness.roles import Feeder, Trainer
from harness.step import Drafting, Gear


@dataclass(frozen=True, kw_only=True, slots=True)
class Assembly:
    """What an execution gets. ``bound_s`` is the longest any wait in it may last."""

    plan: Plan
    recorder: Recorder
    counters: Counters
    failures: Failures
    locking: Locking
    warmup: Warmup
    attentions: tuple[Attention, ...]
    feeders: tuple[Feeder, ...]
    trainers: tuple[Trainer, ...]
    bound_s: float

    @property
    def total(self) -> int:
        """Batches of the whole run."""
        return self.plan.steps * len(self.trainers)

    def close(self) -> None:
        """End what the parts started, and record what attention did."""
        self.locking.close()
        self.counters.finish(fused=all(part.fused for part in self.attentions))


class Workshop:
    """Builds live parts by axis; every failure to build is a ``PartBroken`` of that part."""

    def __init__(
        self, knobs: Mapping[str, str], chosen: Mapping[str, Part], recorder: Recorder
    ) -> None:
        self._names = {**DEFAULT_KNOBS, **knobs}
        self._chosen, self._recorder = chosen, recorder

    def make(self, axis: str, *given: Any) -> Any:
        """The live part of this axis, built from what the axis passes."""
        name, part = self._names[axis], self._chosen[axis]
        return parts.make(axis, name, part, *given, recorder=self._recorder)


def assemble(workshop: Workshop, plan: Plan, recorder: Recorder, *, bound_s: float) -> Assembly:
    """Everything built and placed, nothing started. Raises PartBroken."""
    settle(plan.drafter_devices[0], plan.preset.intraop_threads)
    counters = Counters(recorder)
    compiles = count_compiles(counters)
    locking, checkpoint = workshop.make("locking"), workshop.make("checkpoint")
    targets = {
        device: load_target(
            plan.preset,
            device,
            waiting=lambda: recorder.emit("beat", what="another trial trains the target"),
        )
        for device in dict.fromkeys(plan.target_devices)
    }
    lender = targets[plan.target_devices[0]].borrowed
    borrowed = {device: lender.on(device) for device in dict.fromkeys(plan.drafter_devices)}
    attentions = tuple(
        counted(workshop.make("attention", torch.device(device), index, counters), counters)
        for index, device in enumerate(plan.drafter_devices)
    )
    trainers = []
    for index, attention in enumerate(attentions):
        gear = Gear(
            attention=attention,
            checkpoint=checkpoint,
            loss=workshop.make("loss", plan.preset),
            locking=locking,
        )
        drafting = Drafting(
            index=index, plan=plan, gear=gear, borrowed=borrowed[plan.drafter_devices[index]]
        )
        trainers.append(Trainer(drafting=drafting, plan=plan, recorder=recorder, compiles=compiles))
    return Assembly(
        plan=plan,
        recorder=recorder,
        counters=counters,
        failures=Failures(recorder),
        locking=locking,
        warmup=workshop.make("warmup"),
        attentions=attentions,
        feeders=tuple(
            Feeder(index=index, plan=plan, target=targets[device])
            for index, device in enumerate(plan.target_devices)
        ),
        trainers=tuple(trainers),
        bound_s=bound_s,
    )


class _Counted:
    """An attention part whose calls are counted, in the thread that makes them."""

    def __init__(self, attention: Attention, counters: Counters) -> None:
        self._attention, self._calls = attention, counters.calls
        self.fused = attention.fused
        self.plan = attention.plan
        if hasattr(attention, "tracing"):
            self.tracing = attention.tracing

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, plan: Any) -> torch.Tensor:
        self._calls.add()
        return self._attention.attend(q, k, v, plan)


def counted(attention: Attention, counters: Counters) -> Attention:
    """The same part, counting."""
    return _Counted(attention, counters)
