"""Packed rows in whole trials: every execution computes what the oracle does, parts that cannot
are refused, and rows that are not packed hand over what they always did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fxrace.records.event import Trace
from harness.data.corpora import text_of
from harness.devices import place
from harness.graphs import Live
from harness.model.pretrain import load_target
from harness.precision.native import build as native
from harness.roles import Feeder
from harness.schedule.wsd import WarmupStableDecay
from harness.sharing import Nothing
from harness.step import Drafting, Method
from tests.unit.harness_model.packing import LENGTHS, batch_from, file_of
from tests.unit.harness_model.rig import plain_gear, raw
from tests.unit.harness_threads.trials import losses, part_file, run_trial

DENSE = {"attention": "dense"}
ORACLE = {**DENSE, "execution": "oracle"}
NEAR = 5e-5
"""As for rows that are not packed: sums may be added up in another order."""

NO_BORDERS = '''"""Made before rows could be packed."""
from fxrace.probe.part import Part
from harness.attention.dense import Dense

class Old(Dense):
    def plan(self, anchors, keep, context, block):
        return super().plan(anchors, keep, context, block)

part = Part(build=lambda device, drafter, counters: Old())
'''

TINY = '''"""tiny, but for a target that has learned for eight steps."""
from dataclasses import replace
from harness.recipes.tiny import preset as tiny

preset = replace(tiny, target=replace(tiny.target, train_steps=8))
'''


def packed(root: Path, knobs: dict[str, str], **settings: Any) -> Trace:
    given = {"data": str(file_of(root)), "documents": "packed", **settings}
    return run_trial(root, knobs, **given)


@pytest.mark.slow
def test_tiny_trains_on_packed_rows_as_its_oracle_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its target learns from packed rows too, once."""
    monkeypatch.setenv("FXRACE_CACHE", str(tmp_path / "kept"))
    part_file(tmp_path, "recipes", "tiny_soon", TINY)
    given: dict[str, Any] = {"preset": "tiny_soon", "steps": 3, "drafters": 2}
    wanted = packed(tmp_path, ORACLE, **given)
    got = packed(tmp_path, {"attention": "flex", "locking": "whole_step"}, **given)
    assert not list(got.of("raised", "broken", "skipped"))
    assert len(losses(wanted)) == 2 * 3
    assert losses(got) == pytest.approx(losses(wanted), rel=NEAR)
    (kept,) = (tmp_path / "kept").glob("target-*.pt")
    assert kept.is_file()


def test_threads_compute_what_the_oracle_does_on_packed_rows(tmp_path: Path) -> None:
    wanted = packed(tmp_path, ORACLE)
    got = packed(tmp_path, DENSE, targets=2)
    assert losses(got) == pytest.approx(losses(wanted), rel=NEAR)
    apart = packed(tmp_path, ORACLE, documents="apart")
    assert losses(apart) != pytest.approx(losses(wanted), rel=NEAR)
    held = [e.data["documents"] for e in got.of("step")]
    assert len(held) == 8 and min(held) >= 4  # two rows of at least 32 tokens
    assert not any("documents" in e.data for e in apart.of("step"))


@pytest.mark.slow
def test_processes_compute_what_the_oracle_does_on_packed_rows(tmp_path: Path) -> None:
    knobs = {"sync": "mean", **DENSE}
    wanted = packed(tmp_path, {**knobs, "execution": "oracle"}, steps=2)
    got = packed(tmp_path, {**knobs, "execution": "processes"}, steps=2)
    assert not list(got.of("raised", "broken", "skipped"))
    assert losses(got) == pytest.approx(losses(wanted), rel=NEAR)
    assert len(losses(got)) == 4


def test_a_rehearsal_is_of_packed_rows(tmp_path: Path) -> None:
    """Else the first real step would compile under a freeze."""
    knobs = {"attention": "flex", "locking": "whole_step", "warmup": "main_thread"}
    trace = packed(tmp_path, knobs, freeze=True, drafters=1)
    assert not list(trace.of("raised", "broken"))
    assert len(losses(trace)) == 4


def test_an_attention_part_without_borders_is_refused(tmp_path: Path) -> None:
    part_file(tmp_path, "attention", "old", NO_BORDERS)
    (broken,) = packed(tmp_path, {"attention": "old"}).of("broken")
    assert broken.data["part"] == "attention=old"
    assert "since" in broken.data["reason"]
    joined = packed(tmp_path, {"attention": "old"}, documents="apart", steps=1)
    assert not list(joined.of("broken", "raised"))


def test_what_no_file_tells_is_broken(tmp_path: Path) -> None:
    (broken,) = packed(tmp_path, DENSE, documents="packed:61").of("broken")
    assert "no token 61" in broken.data["reason"]


class Noting(Live):
    """Runs live, and keeps what it was handed."""

    def __init__(self) -> None:
        super().__init__(mode=None)
        self.handed: list[tuple[Tensor, ...]] = []

    def run(self, key: Any, inputs: tuple[Tensor, ...], work: Any, module: Any) -> Any:
        self.handed.append(inputs)
        return super().run(key, inputs, work, module)


def handed_over(rows: Sequence[Tensor]) -> tuple[tuple[Tensor, ...], float | None]:
    """The tensors of one step that a graph would be captured with; what the step says it saw."""
    target, graphs = load_target(raw, "cpu"), Noting()
    drafting = Drafting(
        index=0,
        plan=place(raw, ("cpu",), targets=1, drafters=1, seed=0, steps=1, freeze=False),
        gear=plain_gear(raw),
        method=Method(
            precision=native(), schedule=WarmupStableDecay(), sync=Nothing(), graphs=graphs
        ),
        borrowed=target.borrowed,
    )
    reach = drafting.train(batch_from(target, rows), 0).reach
    (handed,) = graphs.handed
    return handed, reach


def test_a_target_hands_over_rows_and_their_borders(tmp_path: Path) -> None:
    plan = place(raw, ("cpu",), targets=1, drafters=1, seed=0, steps=1, freeze=False)
    path = str(file_of(tmp_path, LENGTHS))
    target = load_target(raw, "cpu")
    for how, tensors in (("joined", 1), ("packed", 2)):
        graphs = Noting()
        read = replace(plan, data=path, documents=how)
        made = Feeder(index=0, plan=read, target=target, graphs=graphs).make(0, 0).batch
        (handed,) = graphs.handed
        assert len(handed) == tensors and torch.equal(handed[0], made.input_ids)
        assert torch.equal(made.features, target.features(*handed))


def test_rows_that_are_not_packed_hand_over_what_they_did(tmp_path: Path) -> None:
    """Features, anchors, keep, tokens, labels, weights; packed ones one number per block more."""
    path = str(file_of(tmp_path, (*LENGTHS, 40)))
    for how in ("joined", "apart"):
        rows = text_of(path, 64, how).rows(seed=0, index=0, rows=2, context=32)
        handed, reach = handed_over(rows)
        assert (len(rows), len(handed), reach) == (2, 6, None)
    rows = text_of(path, 64, "packed").rows(seed=0, index=0, rows=2, context=32)
    handed, reach = handed_over(rows)
    assert (len(rows), len(handed)) == (3, 7)
    assert handed[-1].shape == handed[1].shape == (2, raw.drafter.anchors)
    assert reach == pytest.approx(((handed[1] - handed[-1]) * handed[2]).float().mean().item())
    assert torch.equal(handed[-1], rows[2].gather(1, handed[1]))
