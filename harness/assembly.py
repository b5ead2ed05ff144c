"""Builds everything one trial runs: parts, placement, targets, drafters.

One target is loaded per device, not per slot: it is frozen, so slots that share a device share
it, and each drafter's device gets its own copy of the borrowed embedding and head.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

import torch

from fxrace.probe.part import Part
from fxrace.probe.recorder import Recorder
from harness import parts
from harness.channel import Channel
from harness.compiling import under
from harness.config import DEFAULT_KNOBS, Plan
from harness.contracts import Attention, Checkpoint, Locking, Warmup
from harness.crew import Failures
from harness.data.corpora import corpus_of
from harness.devices import settle
from harness.figures.compiles import count_compiles
from harness.figures.counters import Counters
from harness.model.hosted import Hosted
from harness.model.pretrain import load_target
from harness.model.target import Borrowed, Target
from harness.model.training import Gear
from harness.numerics import Precision, Sync
from harness.roles import Feeder, Parcel, Trainer
from harness.step import Drafting, Method

PLAIN = {"attention": "dense", "layers": "plain", "loss": "dense", "checkpoint": "off"}
"""By what a loss and its gradients are computed where nothing is fast."""
NO_SINCE = "its plan() takes no fifth argument `since`, without which packed rows would leak"


@dataclass(frozen=True, kw_only=True, slots=True)
class Assembly:
    """What an execution gets. ``bound_s`` is the longest any wait in it may last; ``stop`` is
    set when everybody shall stop; ``plain_gear`` makes what drafter 0 would compute by without
    anything compiled or in pieces.
    """

    plan: Plan
    recorder: Recorder
    counters: Counters
    failures: Failures
    locking: Locking
    warmup: Warmup
    sync: Sync
    workshop: Workshop
    attentions: tuple[Attention, ...]
    feeders: tuple[Feeder, ...]
    trainers: tuple[Trainer, ...]
    bound_s: float
    stop: threading.Event
    plain_gear: Callable[[], Gear]

    @property
    def total(self) -> int:
        """Batches of the whole run."""
        return self.plan.steps * len(self.trainers)

    @property
    def together(self) -> bool:
        """True when drafters meet in their steps, so that none can go on without the others."""
        return self.sync.together

    @property
    def coordinated(self) -> bool:
        """True when a coordinator adds up for them."""
        return self.together and self.sync.carrier == "coordinator"

    def channels(self) -> tuple[Channel[Parcel], ...]:
        """One per drafter, as the queue part bounds them."""
        made: tuple[Channel[Parcel], ...] = self.workshop.make(
            "queue", self.plan.preset, len(self.trainers), self.stop
        )
        return made

    def record_queues(self, channels: Sequence[Channel[Parcel]]) -> None:
        """How each drafter's queue was used."""
        for trainer, channel in zip(self.trainers, channels, strict=True):
            self.recorder.emit("queue", drafter=trainer.drafter, **asdict(channel.waits))

    def close(self) -> None:
        """End what the parts started, and record what attention did."""
        self.locking.close()
        self.counters.finish(fused=all(part.fused for part in self.attentions))


class Workshop:
    """Builds live parts by axis; every failure to build is a ``PartBroken`` of that part."""

    def __init__(
        self, knobs: Mapping[str, str], chosen: Mapping[str, Part], recorder: Recorder
    ) -> None:
        self.names = {**DEFAULT_KNOBS, **knobs}
        self._chosen, self._recorder = chosen, recorder

    def make(self, axis: str, *given: Any, **offers: Any) -> Any:
        """The live part of this axis, built from what the axis passes.

        ``offers`` reach builders that have a parameter of that name.
        """
        return parts.make(
            axis, self.names[axis], self._chosen[axis], *given, recorder=self._recorder, **offers
        )

    def but_for(self, names: Mapping[str, str]) -> Workshop:
        """The same with these parts of the harness's own."""
        chosen = {axis: parts.load(axis, name) for axis, name in names.items()}
        return Workshop({**self.names, **names}, {**self._chosen, **chosen}, self._recorder)


def assemble(workshop: Workshop, plan: Plan, recorder: Recorder, *, bound_s: float) -> Assembly:
    """Everything built and placed, nothing started. Raises PartBroken."""
    settle(plan.drafter_devices[0], plan.preset.intraop_threads)
    counters = Counters(recorder)
    compiles = count_compiles(counters)
    shared = Shared(workshop=workshop, plan=plan, counters=counters)
    targets = shared.targets(dict.fromkeys(plan.target_devices))
    lender = targets[plan.target_devices[0]].borrowed
    borrowed = {device: lender.on(device) for device in dict.fromkeys(plan.drafter_devices)}
    attentions, trainers = [], []
    for index, device in enumerate(plan.drafter_devices):
        attention, drafting = shared.drafting(index, borrowed[device])
        attentions.append(attention)
        trainers.append(Trainer(drafting=drafting, plan=plan, recorder=recorder, compiles=compiles))
    return Assembly(
        plan=plan,
        recorder=recorder,
        counters=counters,
        failures=Failures(recorder),
        locking=shared.locking,
        warmup=workshop.make("warmup", plan=plan, names=workshop.names),
        sync=shared.sync,
        workshop=workshop,
        attentions=tuple(attentions),
        feeders=tuple(
            shared.feeder(index, targets[device])
            for index, device in enumerate(plan.target_devices)
        ),
        trainers=tuple(trainers),
        bound_s=bound_s,
        stop=shared.stop,
        plain_gear=shared.plain_gear,
    )


class Shared:
    """The parts that all slots of one process share, and slots built around them."""

    def __init__(self, *, workshop: Workshop, plan: Plan, counters: Counters) -> None:
        self._workshop, self._plan, self._counters = workshop, plan, counters
        self.stop = threading.Event()
        self.locking: Locking = workshop.make("locking")
        self.sync: Sync = workshop.make("sync")
        self._checkpoint: Checkpoint = workshop.make("checkpoint")
        self.precision: Precision = workshop.make("precision")
        self._schedule = workshop.make("schedule")
        self._objective = workshop.make("objective", plan.preset)
        self._convention = workshop.make("labels")
        loss, norm = self.precision.tolerances(plan.device_type)
        counters.recorder.emit("tolerance", loss=loss, grad_norm=norm)

    def targets(self, devices: Iterable[str]) -> dict[str, Any]:
        """The frozen target on each of these devices."""
        return {device: self._frozen(device) for device in devices}

    def feeder(self, index: int, target: Any) -> Feeder:
        """Target slot ``index``. A user's own target is called: its forward may do on the host
        what no capture allows.
        """
        graphs = self._workshop.make("cudagraphs") if isinstance(target, Target) else None
        return Feeder(index=index, plan=self._plan, target=target, graphs=graphs)

    def drafting(self, index: int, borrowed: Borrowed) -> tuple[Attention, Drafting]:
        """Drafter number ``index`` with its own parts."""
        plan, graphs = self._plan, self._workshop.make("cudagraphs")
        gear = self._gear(self._workshop, index, self._checkpoint, graphs.mode)
        gear = replace(gear, attention=counted(gear.attention, self._counters))
        method = Method(
            precision=self.precision, schedule=self._schedule, sync=self.sync, graphs=graphs
        )
        drafting = Drafting(
            index=index, plan=plan, gear=gear, method=method, borrowed=borrowed, stop=self.stop
        )  # fmt: skip
        return gear.attention, drafting

    def plain_gear(self) -> Gear:
        """See ``Assembly``; its calls of attention are not counted."""
        workshop = self._workshop.but_for(PLAIN)
        return self._gear(workshop, 0, workshop.make("checkpoint"))

    def _gear(
        self, workshop: Workshop, index: int, checkpoint: Checkpoint, mode: str | None = None
    ) -> Gear:
        make, plan = workshop.make, self._plan
        device = torch.device(plan.drafter_devices[index])
        offers = {
            "device": device,
            "mode": mode,
            "objective": self._objective,
            "run": under(self.locking, index),
            "kernel_options": options_of(plan.kernel_options),
        }
        offered = {name: value for name, value in offers.items() if name != "device"}
        attention = make("attention", device, index, self._counters, **offered)
        if plan.packed and "since" not in signature(attention.plan).parameters:
            raise parts.PartBroken("attention", workshop.names["attention"], NO_SINCE)
        return Gear(
            attention=attention,
            checkpoint=checkpoint,
            loss=make("loss", plan.preset, **offers),
            locking=self.locking,
            layers=make("layers", plan.preset, **offers),
            convention=self._convention,
        )

    def _frozen(self, device: str) -> Any:
        target = self.precision.target(self._target(device))
        if isinstance(target, Target) and device.startswith("cuda"):
            from harness.kernels.inference import quicken  # Triton is there where GPUs are

            quicken(target, device)
        return target

    def _target(self, device: str) -> Any:
        plan, recorder = self._plan, self._counters.recorder
        dtype, _ = self.precision.dtypes(device.split(":")[0])
        if plan.model:
            return Hosted(Path(plan.model), plan.preset.drafter.captures, device, dtype)
        return load_target(
            plan.preset,
            device,
            dtype=dtype,
            waiting=lambda: recorder.emit("beat", what="another trial trains the target"),
            text=corpus_of(plan),
        )


def options_of(text: str) -> dict[str, int | float | str | bool]:
    """``"BLOCK_M=64,num_stages=2"`` as flex_attention's kernel options. Raises ValueError."""
    found: dict[str, int | float | str | bool] = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        name, equals, value = item.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"kernel option {item!r} is not NAME=VALUE")
        found[name] = int(value) if value.lstrip("-").isdigit() else value
    return found


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
