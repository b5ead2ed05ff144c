"""Programs without a race are not accused at T0 to T2; their racy twin is."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.clean_programs import RACY, SHAPES, accusations, racy_trial, trials

CERTAIN = {"T0", "T1", "T2"}


def test_clean_programs_are_not_accused_and_the_racy_one_is(tmp_path: Path) -> None:
    chosen = (*trials(10), racy_trial())
    assert {trial.settings["shape"] for trial in chosen} == {*SHAPES, RACY}
    found = accusations(chosen, tmp_path, jobs=2)
    assert (found["ran"], found["incomplete"]) == (11, 0)
    certain = [one for one in found["findings"] if one["tier"] in CERTAIN]
    assert [one for one in certain if one["shape"] != RACY] == []
    assert [one for one in certain if one["shape"] == RACY]
