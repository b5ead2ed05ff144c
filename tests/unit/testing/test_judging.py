"""What a test becomes by what was found in it, and what is told of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fxrace.core.interval import wilson
from fxrace.records.document import FindingRow
from fxrace.records.exploration import PairVerdict
from fxrace.records.finding import Frame, Tier, Value
from fxrace.records.testing import Became
from fxrace.testing import telling
from fxrace.testing.judging import Judged, holds, judge
from fxrace.testing.settings import Settings, seconds_of, seed_of
from fxrace.testing.wanted import CLEAN, Known

ROW = FindingRow(
    fingerprint="0123456789ab", title="a 100% race", pattern="schedule", tier=Tier.FAILURE,
    state=None, hazard=None, sides=(), symptoms=(), value=Value(), token="", replay="again",
    repro=None, reliability=wilson(1, 1), remedy="", references=(), trials=(),
)  # fmt: skip


def judged(*rows: FindingRow, verdict: PairVerdict = PairVerdict.FINDING, **more: object) -> Judged:
    usual = {"expect": CLEAN, "known": (), "baseline": frozenset(), "torch": "2.13.0+cpu"}
    usual["fail_on"] = Settings().fail_on
    return judge(rows, verdict, "why", **{**usual, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "became"),
    [
        (judged(ROW), Became.FAILED),
        (judged(verdict=PairVerdict.SAFE), Became.PASSED),
        (judged(verdict=PairVerdict.INCONCLUSIVE), Became.NOTHING),
        (judged(replace(ROW, tier=Tier.NEAR_MISS), verdict=PairVerdict.SAFE), Became.PASSED),
        (judged(ROW, baseline=frozenset({ROW.fingerprint})), Became.KNOWN),
        (judged(ROW, known=(Known(what=ROW.fingerprint),)), Became.KNOWN),
        (judged(ROW, known=(Known(what="another"),)), Became.FAILED),
        (judged(ROW, known=(Known(what=ROW.fingerprint, until="2.14"),)), Became.KNOWN),
        (judged(ROW, known=(Known(what=ROW.fingerprint, until="2.13"),)), Became.FAILED),
        (judged(ROW, expect=ROW.fingerprint), Became.PASSED),
        (judged(ROW, expect="another"), Became.FAILED),
        (judged(expect=ROW.fingerprint, verdict=PairVerdict.SAFE), Became.FAILED),
        (judged(expect=ROW.fingerprint, verdict=PairVerdict.INCONCLUSIVE), Became.NOTHING),
    ],
)
def test_what_a_test_becomes(found: Judged, became: Became) -> None:
    assert found.became is became


def test_a_new_cause_beside_a_known_one_fails() -> None:
    other = replace(ROW, fingerprint="ba9876543210")
    found = judged(ROW, other, baseline=frozenset({ROW.fingerprint}))
    assert (found.became, found.counted, found.known) == (Became.FAILED, (other,), (ROW,))


def test_until_counts_versions_and_not_letters() -> None:
    known = Known(what="x", until="2.10")
    assert holds(known, "2.9.1")
    assert not holds(known, "2.10.0.dev20270101+cpu")


def test_seeds_come_from_ids_and_times_have_units() -> None:
    assert seed_of(0, "a::b") == seed_of(0, "a::b") != seed_of(1, "a::b") != seed_of(1, "a::c")
    assert [seconds_of(text, "") for text in ("30s", "2m", "500ms", "7")] == [30, 120, 0.5, 7]


def test_an_annotation_keeps_to_its_line() -> None:
    row = replace(ROW, title="50%\n::error::forged", hazard="a:b,c")
    assert telling.annotation("t.py", 3, row) == (
        "::error file=t.py,line=3,title=race%3A a%3Ab%2Cc::50%25%0A::error::forged -- again"
    )


def test_a_short_stack_shows_the_user_and_where_it_ended() -> None:
    torch = tuple(
        Frame(file=f"/x/site-packages/torch/{n}.py", line=n, function="f") for n in "1234"
    )
    own = Frame(file="/home/me/test_it.py", line=1, function="test")
    assert telling.short((own, *torch)) == (own, *torch[-3:])
