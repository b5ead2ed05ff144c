"""Windows, predicted balance and memory, waits, and what a trial records of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from harness.devices import place
from harness.figures import flops
from harness.figures.balance import balance_of, told
from harness.figures.memory import batch_bytes, drafter_parameters, predicted
from harness.figures.summary import recomputed, summarise
from harness.figures.windows import merged, windows
from harness.loss.fused_linear_ce import FusedLinearCE
from harness.model.drafter import build_drafter
from harness.parts import load, load_preset
from harness.recipes.paper_4b import preset as paper_4b
from harness.recipes.paper_8b import preset as paper_8b
from harness.recipes.tiny import preset as tiny
from harness.recompute import Kind, Recompute
from harness.roles import Turn
from tests.unit.harness_threads.trials import part_file, run_trial


def turn(began_s: float, ended_s: float, slots: int = 10) -> Turn:
    return Turn(began_s=began_s, ended_s=ended_s, slots=slots, context=64, compiled=False)


def test_windows_of_a_steady_run_agree() -> None:
    found = windows([turn(n, n + 1) for n in range(40)])
    assert found is not None
    assert found["n"] == 20
    assert found["window_s"] == 2.0
    assert found["median"] == found["low"] == found["high"] == pytest.approx(10.0)


def test_a_slow_half_shows_in_the_interval_and_a_pause_is_no_window() -> None:
    quick = [turn(n, n + 1) for n in range(20)]
    slow = [turn(100 + 4 * n, 104 + 4 * n) for n in range(5)]
    found = windows([*quick, *slow])
    assert found is not None
    assert found["low"] == pytest.approx(2.5)
    assert found["high"] == pytest.approx(10.0)
    assert windows([turn(0, 1)]) is None
    assert merged([(3, 4), (0, 1), (0.5, 2)]) == [(0, 2), (3, 4)]


def test_work_of_two_drafters_adds_up_in_a_window() -> None:
    found = windows([turn(n, n + 1) for n in range(8)] * 2)
    assert found is not None and found["median"] == pytest.approx(20.0)


@pytest.mark.parametrize("preset", [tiny, paper_4b, paper_8b], ids=lambda p: p.name)
def test_parameters_are_those_of_the_model(preset) -> None:  # type: ignore[no-untyped-def]
    with torch.device("meta"):
        from harness.model.drafter import Drafter

        drafter = Drafter(preset.target, preset.drafter)
    assert drafter_parameters(preset) == sum(weight.numel() for weight in drafter.parameters())


def test_paper_figures() -> None:
    assert drafter_parameters(paper_8b) == pytest.approx(1.049e9, rel=1e-3)
    assert drafter_parameters(paper_4b) == pytest.approx(537e6, rel=2e-3)
    assert batch_bytes(paper_8b, 3072, width=2) == pytest.approx(126e6, rel=0.01)
    memory = predicted(paper_8b, width=2)
    assert memory.weights == pytest.approx(16.8e9, rel=0.01)
    assert 20e9 < memory.drafter < 60e9


def test_the_predicted_balance() -> None:
    """The drafter costs 1.2 to 2.4 times the target per token from S 4096 to 2048."""
    balance = balance_of(paper_8b)
    assert 1.2 < 1 / balance.ratio < 2.0
    targets, drafters = balance.split
    assert targets < drafters
    assert balance.idle(3, 5) < balance.idle(5, 3)
    plan = place(paper_8b, ("cuda:0",), targets=5, drafters=3, seed=0, steps=1, freeze=False)
    assert "the targets wait" in told(plan)


def test_the_predicted_balance_of_fp8_is_about_the_measured_one() -> None:
    """One fp8 target replayed fed 3.1 drafters of an H200 each, over all three row lengths."""
    speed = load("precision", "fp8_target").build().target_speed
    balance = balance_of(paper_8b, speed)
    assert 2.8 < 1 / balance.ratio < 3.3
    assert balance.split == (1, 3) and balance.idle(1, 3) < 0.1
    assert balance_of(paper_8b).idle(1, 3) > 0.4


QUICK = '''"""fp32, with a target said to be twice as fast."""
from fxrace.probe.part import Part
from harness.precision.fp32 import build as fp32

class Quick:
    target_speed = 2.0

    def __getattr__(self, name):
        return getattr(fp32(), name)

part = Part(build=Quick)
'''


def test_a_trial_predicts_by_the_speed_of_its_precision(tmp_path: Path) -> None:
    part_file(tmp_path, "precision", "quick", QUICK)
    for precision, speed in (("fp32", 1.0), ("quick", 2.0)):
        knobs = {"attention": "dense", "precision": precision}
        (event,) = run_trial(tmp_path, knobs, steps=1, targets=1, drafters=2).of("balance")
        blank = load_preset("blank", [tmp_path])
        plan = place(blank, ("cpu",), targets=1, drafters=2, seed=0, steps=1, freeze=False)
        assert event.data["text"] == told(plan, speed) != told(plan, 3 - speed)


def test_recompute_counts_for_hfu_only() -> None:
    plain = recomputed(object(), object())
    again = recomputed(Recompute(Kind.REENTRANT), object())
    assert (plain.layers, plain.head) == (False, False)
    assert (again.layers, again.head) == (True, True)
    fused = recomputed(Recompute(Kind.REENTRANT), FusedLinearCE(tiny))
    assert (fused.layers, fused.head) == (True, False)
    step = flops.step_flops(tiny, 64)
    assert flops.hardware_flops(tiny, 64, plain) == step
    row = flops.draft_flops(tiny.target, tiny.drafter, context=64)
    head = flops.Recomputed(head=True)
    assert flops.hardware_flops(tiny, 64, head) == step + tiny.rows * row.head


def test_anchors_per_second_and_windows_are_in_the_summary() -> None:
    plan = place(tiny, ("cpu",), targets=1, drafters=1, seed=0, steps=9, freeze=False)
    found = summarise(plan, [[turn(n, n + 1) for n in range(9)]])
    assert found.anchors_per_s == tiny.rows * tiny.drafter.anchors
    assert found.windows["median"] == pytest.approx(10.0)
    assert found.predicted_memory_bytes > 0


def test_a_trial_records_waits_balance_and_queues(tmp_path: Path) -> None:
    trace = run_trial(tmp_path, {"attention": "dense", "locking": "whole_step"}, steps=4)
    assert [e.data["drafter"] for e in trace.of("queue")] == [0, 1]
    depths = [sum(e.data["depths"].values()) for e in trace.of("queue")]
    assert depths == [4, 4]
    assert all(e.data["lock_wait_s"] >= 0 for e in trace.of("step"))
    assert all(0 <= e.data["handoff_s"] <= e.data["step_s"] for e in trace.of("step"))
    assert len(list(trace.of("balance"))) == 1


def test_the_drafter_is_built_in_the_format_asked_for() -> None:
    drafter = build_drafter(tiny, seed=0, device="cpu", dtype=torch.bfloat16)
    assert {weight.dtype for weight in drafter.parameters()} == {torch.bfloat16}
