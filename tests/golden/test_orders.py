"""What recorded trials show about order: races where nothing orders, none under one lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from fxrace.core.borrowing import met, unordered
from fxrace.core.detect import detectors, findings_in
from fxrace.core.timeline import regions
from fxrace.records.finding import Finding, Tier
from tests.golden.test_golden import evidence

HERE = Path(__file__).parent
CLEAN = sorted(path for path in HERE.glob("clean-*"))


def claims(folder: str, detector: str) -> tuple[Finding, ...]:
    return detectors()[detector].find(evidence(HERE / folder, "exited"))


@pytest.mark.parametrize("folder", CLEAN, ids=lambda path: path.name)
def test_a_whole_step_under_one_lock_has_no_race_and_no_near_miss(folder: Path) -> None:
    assert findings_in(evidence(folder, "exited")) == ()


def test_it_is_the_lock_that_orders_the_clean_trial() -> None:
    trace = evidence(HERE / "clean-whole-step-orders", "exited").trace
    unlocked = type(trace)(events=tuple(e for e in trace.events if e.data.get("edge") != "acquire"))
    apart = {(pair.first.ident, pair.second.ident) for pair in unordered(unlocked)}
    assert len(apart) >= 2
    assert not list(met(regions(trace)))


@pytest.mark.parametrize("folder", ["raised-overlapping-traces", "raised-beside-exec-lock"])
def test_the_race_is_seen_by_itself_and_told_once(folder: str) -> None:
    (race,) = claims(folder, "race")
    assert race.tier is Tier.RACE
    assert {side.region for side in race.sides} == {"trace"}
    assert len({side.thread for side in race.sides}) == 2
    whole = findings_in(evidence(HERE / folder, "exited"))
    assert not [f for f in whole if f.pattern in {"race", "overlap", "near_miss"}]
    (failure,) = (f for f in whole if f.state == "fx.patcher")
    assert failure.tier is Tier.FAILURE
    assert any(symptom.startswith("evidence: ") for symptom in failure.symptoms)


def test_a_swap_names_the_patcher() -> None:
    (swap,) = claims("raised-overlapping-traces", "overlap")
    assert swap.state == "fx.patcher"


def test_a_used_up_recompile_limit_is_the_reason_of_the_dense_calls() -> None:
    (limit,) = claims("raised-fx-patcher", "recompile_limit")
    (dense,) = (
        f for f in findings_in(evidence(HERE / "raised-fx-patcher", "exited"))
        if f.tier is Tier.SILENT_WRONG
    )  # fmt: skip
    assert dense.pattern == "dense"
    assert f"because {limit.symptoms[0]}" in dense.symptoms
