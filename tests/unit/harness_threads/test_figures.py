"""Placement, seeds and the summary's arithmetic."""

from __future__ import annotations

import pytest

from harness import flops
from harness.config import Plan
from harness.devices import NoDevice, devices_of, peak_flops, place
from harness.figures import steady, summarise
from harness.recipes.tiny import preset
from harness.roles import Turn
from harness.step import seed_of


def plan(*physical: str, targets: int = 1, drafters: int = 1, steps: int = 4) -> Plan:
    return place(
        preset, physical, targets=targets, drafters=drafters, seed=0, steps=steps, freeze=False
    )


def turn(step_s: float, *, compiled: bool = False) -> Turn:
    return Turn(step_s=step_s, slots=10, context=64, compiled=compiled)


def test_drafters_get_devices_of_their_own_first() -> None:
    eight = plan(*(f"cuda:{i}" for i in range(8)), targets=5, drafters=3)
    assert eight.drafter_devices == ("cuda:0", "cuda:1", "cuda:2")
    assert eight.target_devices == ("cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7")
    assert not eight.oversubscribed
    three = plan("cuda:0", "cuda:1", "cuda:2", targets=2, drafters=3)
    assert three.target_devices == ("cuda:0", "cuda:1")
    assert three.oversubscribed


def test_the_cpu_is_one_device() -> None:
    assert devices_of("cpu") == ("cpu",)
    assert plan("cpu").oversubscribed
    assert peak_flops(["cpu"]) is None
    with pytest.raises(NoDevice):
        devices_of("abacus")
    with pytest.raises(ValueError, match="at least one"):
        plan("cpu", drafters=0)


def test_steady_leaves_out_the_first_step_and_those_that_compiled() -> None:
    first, cold, warm = turn(9.0), turn(5.0, compiled=True), turn(1.0)
    assert steady([first, cold, warm]) == [warm]
    assert steady([first, cold]) == [cold]
    assert steady([first]) == [first]
    assert steady([]) == []


def test_rates_add_up_over_drafters_that_finished() -> None:
    whole = [turn(9.0), turn(0.5), turn(0.5), turn(0.5)]
    one = summarise(plan("cpu"), [whole])
    assert one.draft_slots_per_s == 20.0
    assert one.rows_per_s == preset.rows / 0.5
    assert one.context_tokens_per_s == preset.rows * 64 / 0.5
    assert one.tflops == pytest.approx(flops.step_flops(preset, 64) / 0.5 / 1e12)
    two = summarise(plan("cpu", drafters=3), [whole, whole, whole[:2]])
    assert (two.drafters_done, two.steps) == (2, 10)
    assert two.draft_slots_per_s == 40.0


def test_nothing_finished_is_no_speed() -> None:
    none = summarise(plan("cpu"), [[turn(1.0)]])
    assert none.drafters_done == 0 and none.draft_slots_per_s == 0.0


def test_seeds_differ_by_every_part_and_do_not_change() -> None:
    seeds = {seed_of(s, d, step) for s in range(3) for d in range(3) for step in range(3)}
    assert len(seeds) == 27
    assert seed_of(1, 2, 3) == seed_of(1, 2, 3) != seed_of(12, 3)
    assert all(0 <= seed < 2**63 for seed in seeds)
