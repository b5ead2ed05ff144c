"""What is said of a claim, from values alone: both ways, and every way of not knowing."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fxrace.core import claims
from fxrace.core.claims import Rule
from fxrace.records.claims import Answer, ClaimRow, ExperimentRow, Values
from fxrace.records.event import Event, Trace
from fxrace.records.outcome import Ending, Stop

TRUE, FALSE, DEPENDS, OPEN = Answer.TRUE, Answer.FALSE, Answer.DEPENDS, Answer.INCONCLUSIVE
RULE = Rule(test=lambda values: bool(values["seen"]), true="seen: {seen}", false="not seen")
GOOD: Mapping[Answer, Values | str] = {TRUE: {"seen": 1}, FALSE: {"seen": 0}}


def judged(
    measured: Values | str, controls: Mapping[Answer, Values | str] = GOOD, id: str = "one"
) -> ExperimentRow:
    return claims.experiment(
        id=id, when=f"when {id}", rule=RULE, measured=measured, controls=controls
    )


@pytest.mark.parametrize(("seen", "answer"), [(3, TRUE), (0, FALSE)])
def test_an_experiment_can_say_both(seen: int, answer: Answer) -> None:
    row = judged({"seen": seen})
    assert row.answer is answer
    assert all(control.fired for control in row.controls)
    assert row.values == {"seen": seen}


def test_a_reason_holds_the_values() -> None:
    assert judged({"seen": 3}).reason == "seen: 3"


@pytest.mark.parametrize("says", [TRUE, FALSE])
@pytest.mark.parametrize("seen", [0, 1])
def test_a_control_that_comes_out_wrong_leaves_it_open(says: Answer, seen: int) -> None:
    wrong = {**GOOD, says: GOOD[FALSE if says is TRUE else TRUE]}
    row = judged({"seen": seen}, wrong)
    assert row.answer is OPEN
    assert [control.says for control in row.controls if not control.fired] == [says]


def test_a_control_that_could_not_run_leaves_it_open() -> None:
    row = judged({"seen": 1}, {**GOOD, FALSE: "its process died of signal 11"})
    assert row.answer is OPEN
    assert "signal 11" in row.reason


@pytest.mark.parametrize(("says", "seen"), [(TRUE, 1), (FALSE, 0)])
def test_without_a_control_of_the_other_answer_it_is_not_believed(says: Answer, seen: int) -> None:
    assert judged({"seen": seen}, {says: GOOD[says]}).answer is OPEN
    assert judged({"seen": 1 - seen}, {says: GOOD[says]}).answer is not OPEN


def test_positions_that_were_not_reached_are_no_answer() -> None:
    assert judged({"seen": 1, "forced": False}).answer is OPEN
    assert judged({"seen": 1, "forced": True}).answer is TRUE


def test_a_value_that_is_missing_is_no_answer() -> None:
    row = judged({"other": 1})
    assert (row.answer, "seen" in row.reason) == (OPEN, True)


def test_what_a_device_cannot_run_counts_neither_way() -> None:
    skipped = judged({"skipped": "no GPU"})
    assert not skipped.applies
    assert claims.claim((judged({"seen": 1}), skipped), "x").answer is TRUE
    assert claims.claim((skipped,), "x").answer is OPEN


YES, NO, UNKNOWN = (judged({"seen": 1}, id="a"), judged({"seen": 0}, id="b"), judged("no", id="c"))


@pytest.mark.parametrize(
    ("rows", "answer"),
    [
        ((YES,), TRUE),
        ((YES, YES), TRUE),
        ((NO, NO), FALSE),
        ((YES, NO), DEPENDS),
        ((NO, YES, UNKNOWN), DEPENDS),
        ((YES, UNKNOWN), OPEN),
        ((NO, UNKNOWN), OPEN),
        ((UNKNOWN,), OPEN),
        ((), OPEN),
    ],
)
def test_a_claim(rows: tuple[ExperimentRow, ...], answer: Answer) -> None:
    assert claims.claim(rows, "grad mode").answer is answer


def test_depends_says_on_what() -> None:
    reason = claims.claim((YES, NO), "grad mode").reason
    assert reason == "on grad mode: TRUE when a; FALSE when b"


def row_on(torch: str, verdict: Answer) -> ClaimRow:
    return ClaimRow(
        id="C1", statement="s", verdict=verdict, reason="r", depends_on=None, experiments=(),
        torch=torch, python="p", device="cpu",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "answer"),
    [
        ((TRUE, TRUE), TRUE),
        ((FALSE,), FALSE),
        ((DEPENDS, DEPENDS), DEPENDS),
        ((TRUE, FALSE), DEPENDS),
        ((TRUE, DEPENDS, OPEN), DEPENDS),
        ((TRUE, OPEN), OPEN),
    ],
)
def test_over_several_torches(verdicts: tuple[Answer, ...], answer: Answer) -> None:
    rows = [row_on(f"2.{number}", verdict) for number, verdict in enumerate(verdicts)]
    (summary,) = claims.summary(rows)
    assert summary.verdict is answer


def test_a_difference_between_torches_is_named() -> None:
    (summary,) = claims.summary([row_on("2.13", TRUE), row_on("2.14", FALSE)])
    assert "TRUE on 2.13; FALSE on 2.14" in summary.reason


def ending(stop: Stop = Stop.EXITED, code: int | None = 0) -> Ending:
    return Ending(stop=stop, code=code, duration_s=1.0, overhead_s=0.0)


def trace(kind: str, **data: object) -> Trace:
    return Trace(events=(Event(at_s=0.0, thread="main", ident=1, kind=kind, data=data),))


def test_a_reading_is_what_was_measured() -> None:
    assert claims.reading(trace("measured", values={"seen": 1}), ending()) == {"seen": 1}


def test_or_why_nothing_was() -> None:
    error = {
        "type": "Wrapped", "message": "", "causes": [{"type": "Blind", "message": "no place\nmore"}]
    }  # fmt: skip
    assert claims.reading(trace("raised", error=error), ending()) == "it ended with Blind: no place"
    assert "cannot" in str(claims.reading(trace("broken", reason="cannot import"), ending()))
    assert "signal 11" in str(claims.reading(Trace(), ending(Stop.SIGNALLED, 11)))
    assert "timed_out" in str(claims.reading(Trace(), ending(Stop.TIMED_OUT)))
