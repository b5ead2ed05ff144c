"""Placement, seeds and the summary's arithmetic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.config import Plan
from harness.devices import NoDevice, devices_of, peak_flops, place
from harness.figures import flops
from harness.figures.summary import covered, steady, summarise
from harness.recipes.tiny import preset
from harness.roles import Turn
from harness.step import seed_of


def plan(*physical: str, targets: int = 1, drafters: int = 1, steps: int = 4) -> Plan:
    return place(
        preset, physical, targets=targets, drafters=drafters, seed=0, steps=steps, freeze=False
    )


def turn(began_s: float, ended_s: float, *, compiled: bool = False) -> Turn:
    return Turn(began_s=began_s, ended_s=ended_s, slots=10, context=64, compiled=compiled)


def drafter(start_s: float) -> list[Turn]:
    """A first step of 9 s, then three of half a second."""
    ends = (9.0, 9.5, 10.0, 10.5)
    starts = (0.0, *ends[:-1])
    return [turn(start_s + a, start_s + b) for a, b in zip(starts, ends, strict=True)]


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
    first, cold, warm = turn(0, 9), turn(9, 14, compiled=True), turn(14, 15)
    assert steady([first, cold, warm]) == [warm]
    assert steady([first, cold]) == [cold]
    assert steady([first]) == [first]
    assert steady([]) == []


def test_rates_of_one_drafter() -> None:
    one = summarise(plan("cpu"), [drafter(0)])
    assert one.draft_slots_per_s == 20.0
    assert one.rows_per_s == preset.rows / 0.5
    assert one.context_tokens_per_s == preset.rows * 64 / 0.5
    assert one.tflops == pytest.approx(flops.step_flops(preset, 64) / 0.5 / 1e12)


def test_packed_steps_count_what_their_blocks_saw() -> None:
    turns = [replace(one, reach=5.0) for one in drafter(0)]
    found, whole = summarise(plan("cpu"), [turns]), summarise(plan("cpu"), [drafter(0)])
    assert found.tflops == pytest.approx(flops.step_flops(preset, 64, 5.0) / 0.5 / 1e12)
    assert found.tflops < whole.tflops
    assert found.draft_slots_per_s == whole.draft_slots_per_s


def test_drafters_side_by_side_add_up_and_those_that_died_do_not_count() -> None:
    found = summarise(plan("cpu", drafters=3), [drafter(0), drafter(0), drafter(0)[:2]])
    assert (found.drafters_done, found.steps) == (2, 10)
    assert found.draft_slots_per_s == 40.0


def test_drafters_one_after_the_other_do_not_add_up() -> None:
    assert summarise(plan("cpu", drafters=2), [drafter(0), drafter(100)]).draft_slots_per_s == 20.0


def test_time_covered_counts_overlaps_once() -> None:
    assert covered([(0, 2), (1, 3), (5, 6), (5.5, 5.8)]) == 4
    assert covered([]) == 0


def test_nothing_finished_is_no_speed() -> None:
    none = summarise(plan("cpu"), [[turn(0, 1)]])
    assert none.drafters_done == 0
    assert none.draft_slots_per_s == 0.0


def test_seeds_differ_by_every_part_and_do_not_change() -> None:
    seeds = {seed_of(s, d, step) for s in range(3) for d in range(3) for step in range(3)}
    assert len(seeds) == 27
    assert seed_of(1, 2, 3) == seed_of(1, 2, 3) != seed_of(12, 3)
    assert all(0 <= seed < 2**63 for seed in seeds)
