"""Exit statuses in, a judgement out: every way a script can end, on every side of its span."""

from __future__ import annotations

import signal

import pytest

from fxrace.core.repro_judge import judge, release, row_of, run_of
from fxrace.records.hazard import Hazard, Layer
from fxrace.records.repro import Judgement, ScriptEnd, ScriptRun
from fxrace.records.verdict import Verdict

HAZARD = Hazard(
    slug="a", title="t", layer=Layer.FX, states=(), regions=(), patterns=(), racy=Verdict.RAISED,
    remedy="r", since="2.6", fixed_in="2.14", evidence={},
)  # fmt: skip
INSIDE, BEFORE, AFTER = "2.13.0+cpu", "2.5.1", "2.14.1"


def ended(status: int | None, line: str = "", error: str = "") -> ScriptRun:
    end = ScriptEnd(status=status, line=line, error=error, duration_s=1.0)
    return run_of(end, timeout_s=5)


def runs(*verdicts: Verdict) -> list[ScriptRun]:
    return [ScriptRun(verdict=v, reason=f"was {v.value}", duration_s=1.0) for v in verdicts]


@pytest.mark.parametrize(
    ("run", "verdict", "reason"),
    [
        (ended(66, "RAISED NameError: no"), Verdict.RAISED, "NameError: no"),
        (ended(66, "HUNG a -> b"), Verdict.HUNG, "a -> b"),
        (ended(0, "CLEAN all right"), Verdict.CLEAN, "all right"),
        (ended(77, "SKIPPED no GPU"), Verdict.SKIPPED, "no GPU"),
        (ended(-signal.SIGSEGV), Verdict.CRASHED, "SIGSEGV"),
        (ended(None), Verdict.BROKEN, "5 s"),
        (ended(1, "", "ValueError: own"), Verdict.BROKEN, "ValueError: own"),
        (ended(66, "CLEAN all right"), Verdict.BROKEN, "66"),
        (ended(0, "RAISED x"), Verdict.BROKEN, "0"),
        (ended(0), Verdict.BROKEN, "nothing printed"),
    ],
)
def test_a_run_is_what_status_and_word_agree_on(
    run: ScriptRun, verdict: Verdict, reason: str
) -> None:
    assert run.verdict is verdict
    assert reason in run.reason


def test_a_row_counts_the_wanted_verdict_and_hides_no_breakage() -> None:
    row = row_of(runs(Verdict.CLEAN, Verdict.RAISED, Verdict.CLEAN), wanted=Verdict.RAISED)
    assert (row.verdict, row.k, row.n) == (Verdict.RAISED, 1, 3)
    row = row_of(runs(Verdict.RAISED, Verdict.BROKEN), wanted=Verdict.RAISED)
    assert (row.verdict, row.k, row.n) == (Verdict.BROKEN, 1, 2)
    row = row_of(runs(Verdict.CLEAN, Verdict.WRONG), wanted=Verdict.CLEAN)
    assert (row.verdict, row.k) == (Verdict.WRONG, 1)
    assert row_of([], wanted=Verdict.CLEAN).verdict is None


@pytest.mark.parametrize(
    ("torch", "racy", "guarded", "judgement"),
    [
        (INSIDE, Verdict.RAISED, Verdict.CLEAN, Judgement.REPRODUCED),
        (INSIDE, Verdict.RAISED, None, Judgement.REPRODUCED),
        (INSIDE, Verdict.CLEAN, Verdict.CLEAN, Judgement.NOT_REPRODUCED),
        (AFTER, Verdict.CLEAN, Verdict.CLEAN, Judgement.NOT_APPLICABLE),
        (BEFORE, Verdict.CLEAN, Verdict.CLEAN, Judgement.NOT_APPLICABLE),
        (AFTER, Verdict.RAISED, Verdict.CLEAN, Judgement.REPRODUCED),
        (INSIDE, Verdict.SKIPPED, Verdict.SKIPPED, Judgement.NOT_APPLICABLE),
        (INSIDE, Verdict.WRONG, Verdict.CLEAN, Judgement.BROKEN),
        (INSIDE, Verdict.RAISED, Verdict.RAISED, Judgement.BROKEN),
        (INSIDE, Verdict.RAISED, Verdict.BROKEN, Judgement.BROKEN),
        (INSIDE, None, Verdict.CLEAN, Judgement.NOT_APPLICABLE),
    ],
)
def test_judgement(
    torch: str, racy: Verdict | None, guarded: Verdict | None, judgement: Judgement
) -> None:
    rows = [
        row_of(runs(verdict) if verdict else [], wanted=wanted)
        for verdict, wanted in ((racy, HAZARD.racy), (guarded, Verdict.CLEAN))
    ]
    told, reason = judge(HAZARD, torch, *rows)
    assert told is judgement
    assert reason


def test_a_hazard_outside_its_span_says_that_the_header_is_wrong() -> None:
    row, none = (
        row_of(runs(Verdict.RAISED), wanted=Verdict.RAISED),
        row_of([], wanted=Verdict.RAISED),
    )
    assert "2.14" in judge(HAZARD, AFTER, row, none)[1]
    assert "2.14" not in judge(HAZARD, INSIDE, row, none)[1]


def test_versions_are_ordered_as_numbers() -> None:
    names = ["2.6.0+cu124", "2.12.0", "2.13.0+cpu", "2.13.1", "2.14.0.dev20260101", "3.0"]
    assert [release(name) for name in names] == sorted(release(name) for name in names)
    assert release("2.13") == release("2.13.0+cpu")
