"""Intervals, digests and the expansion of a sweep."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxrace.core.expand import is_reference, references, trials
from fxrace.core.interval import spread, wilson
from fxrace.records.sweep import Sweep
from fxrace.records.trial import Limits, Trial


@given(st.integers(0, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_contains_the_observed_share(kn: tuple[int, int]) -> None:
    k, n = kn
    tally = wilson(k, n)
    assert 0 <= tally.low <= tally.high <= 1
    if n:
        assert tally.low - 1e-4 <= k / n <= tally.high + 1e-4


def test_wilson_against_published_values() -> None:
    # 8 of 10, Newcombe 1998, method 3: 0.4902 to 0.9433
    assert wilson(8, 10).low == pytest.approx(0.4902, abs=1e-4)
    assert wilson(8, 10).high == pytest.approx(0.9433, abs=1e-4)
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)
    with pytest.raises(ValueError, match="no rate"):
        wilson(3, 2)


def test_spread() -> None:
    assert spread([]) is None
    found = spread([3.0, 1.0, 2.0])
    assert found is not None
    assert (found.median, found.low, found.high, found.n) == (2.0, 1.0, 3.0, 3)


SWEEP = Sweep(
    target="t:run",
    axes={"locking": ("none", "a"), "checkpoint": ("off", "b", "c")},
    settings={"preset": "tiny"},
    repeats=2,
)


def test_a_sweep_expands_to_every_combination_once_per_repeat() -> None:
    found = trials(SWEEP)
    assert len(found) == 12
    assert len({trial.digest for trial in found}) == 12
    assert [trial.repeat for trial in found] == [0] * 6 + [1] * 6
    assert not any(is_reference(trial) for trial in found)


def test_the_reference_is_taken_twice_whatever_the_axes() -> None:
    first, second = references(SWEEP)
    assert is_reference(first)
    assert first.digest != second.digest
    assert first.settings == SWEEP.settings


@pytest.mark.parametrize(
    "change",
    [
        {"target": "u:run"},
        {"knobs": {"locking": "other"}},
        {"settings": {"preset": "small"}},
        {"seed": 1},
        {"repeat": 1},
        {"limits": Limits(trial_s=1.0)},
    ],
)
def test_a_digest_covers_every_field(change: dict[str, object]) -> None:
    trial = trials(SWEEP)[0]
    assert replace(trial, **change).digest != trial.digest  # type: ignore[arg-type]


def test_a_trial_survives_json_without_a_library() -> None:
    trial = trials(SWEEP)[3]
    again = Trial.from_plain(json.loads(json.dumps(asdict(trial))))
    assert again == trial
    assert again.digest == trial.digest
