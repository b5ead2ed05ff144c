"""One drafter on one device with chosen parts: its loss and gradients, batch after batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from fxrace.probe.recorder import Recorder
from harness.assembly import Shared, Workshop
from harness.config import DEFAULT_KNOBS, DrafterShape, Preset, TargetShape
from harness.devices import place
from harness.figures.counters import Counters
from harness.parts import select
from harness.step import Drafting, seed_of

# Untrained; every matrix is a multiple of 16 both ways, as fp8 products want it.
PRESET = Preset(
    name="on_device",
    target=TargetShape(
        layers=4, hidden=128, intermediate=256, heads=4, kv_heads=2, head_dim=32, vocab=512
    ),
    drafter=DrafterShape(layers=2, captures=2, block=8, anchors=24, gamma=4.0),
    contexts=(256, 320),
    rows=2,
    steps=100,
    chunk_blocks=8,
)  # fmt: skip
DEVICES = [pytest.param("cpu"), pytest.param("cuda:0", marks=pytest.mark.gpu)]
PLAIN = {
    **DEFAULT_KNOBS, "attention": "dense", "layers": "plain", "loss": "dense", "precision": "fp32",
}  # fmt: skip

USUAL: Mapping[str, str] = {}


class Slot:
    """A target and a drafter that share a device; batch ``number`` has its own row length."""

    def __init__(
        self, device: str, knobs: Mapping[str, str], recorder: Recorder, read: Mapping[str, str]
    ) -> None:
        chosen = {**PLAIN, **knobs}
        plan = place(PRESET, (device,), targets=1, drafters=1, seed=3, steps=100, freeze=False)
        plan = replace(plan, **read)
        self.counters = Counters(recorder)
        self.shared = Shared(
            workshop=Workshop(chosen, select(chosen), recorder), plan=plan, counters=self.counters
        )
        self.target = self.shared.targets([device])[device]
        self.drafting: Drafting
        _, self.drafting = self.shared.drafting(0, self.target.borrowed)
        self.feeder = self.shared.feeder(0, self.target)
        spread(self.drafting)

    def gradients(self, number: int) -> list[Tensor]:
        """The loss on batch ``number`` and every weight's gradient, as fp64 on the CPU."""
        batch = self.feeder.make(number, number).batch
        figures = self.drafting._backward(batch, torch.Generator().manual_seed(seed_of(number)))
        found = [figures[0], *(weight.grad for weight in self.drafting.module.parameters())]
        kept = [tensor.detach().double().cpu() for tensor in found]
        self.drafting._updates.drop()
        return kept

    def trained(self, number: int) -> float:
        """The loss of a whole step, optimizer included, on batch ``number``."""
        return self.drafting.train(self.feeder.make(number, number).batch, number).loss

    def features(self, number: int = 0) -> Tensor:
        """What the target makes of batch ``number``."""
        made: Tensor = self.feeder.make(number, number).batch.features
        return made


@contextmanager
def slot(
    folder: Path, device: str, *, read: Mapping[str, str] = USUAL, **knobs: str
) -> Iterator[Slot]:
    """A slot with the plain parts but for ``knobs``, and nothing compiled yet.

    ``read`` replaces the plan's ``data`` and ``documents``.
    """
    torch._dynamo.reset()
    recorder = Recorder(folder / f"events-{len(list(folder.iterdir()))}.jsonl")
    made = Slot(device, knobs, recorder, read)
    try:
        yield made
    finally:
        made.shared.locking.close()
        made.counters.finish(fused=False)  # what attention parts hooked is hooked no more
        recorder.close()


def spread(drafting: Drafting) -> None:
    """Norm weights away from one: where all are one, it does not show which of them was used."""
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for master in drafting._updates.parameters:
            if master.ndim == 1:
                master.copy_(torch.empty(master.shape).uniform_(0.5, 2.0, generator=generator))
    drafting._updates.publish()


def apart(mine: Tensor, theirs: Tensor) -> float:
    """Norm of the difference over the norm of ``theirs``."""
    mine, theirs = mine.double(), theirs.double()
    return float((mine - theirs).norm() / theirs.norm().clamp_min(1e-12))
