"""Findings and hazards are joined by pattern, State and region; nothing matches by accident."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fxrace.core.attribute import attributed, hazard_of
from fxrace.core.interval import wilson
from fxrace.records.document import FindingRow
from fxrace.records.finding import Finding, Side, Tier, Value
from fxrace.records.hazard import Hazard, Layer
from fxrace.records.verdict import Verdict


def hazard(slug: str, **changes: Any) -> Hazard:
    given = Hazard(
        slug=slug, title=slug, layer=Layer.FX, states=("fx.patcher",), regions=(),
        patterns=("exception", "overlap"), racy=Verdict.RAISED, remedy=f"remedy of {slug}",
        since="2.6", evidence={}, references=("pytorch/pytorch#1",),
    )  # fmt: skip
    return replace(given, **changes)


def finding(**changes: Any) -> Finding:
    given = Finding(
        fingerprint="f", title="t", tier=Tier.FAILURE, state="fx.patcher", hazard=None,
        sides=(Side(thread="a", region="trace", access="x"),), symptoms=("s",),
        pattern="exception", references=("pytorch/pytorch#0",),
    )  # fmt: skip
    return replace(given, **changes)


def row(**changes: Any) -> FindingRow:
    given = FindingRow(
        fingerprint="f", title="t", pattern="exception", tier=Tier.FAILURE, state="fx.patcher",
        hazard=None, sides=(), symptoms=(), value=Value(), token="", replay="", repro=None,
        reliability=wilson(1, 1), remedy="", references=(), trials=(),
    )  # fmt: skip
    return replace(given, **changes)


CIRCLE = (
    Side(thread="a", region="wait", access="waits for thread D"),
    Side(thread="b", region="wait", access="waits for lock L, held by a"),
)
STATELESS = hazard("stateless", states=(), patterns=("recompile_limit",))
MATCHING: dict[str, tuple[Finding, Hazard, bool]] = {
    "all alike": (finding(), hazard("h"), True),
    "another pattern": (finding(pattern="leak"), hazard("h"), False),
    "another State": (finding(state="nn.module_call"), hazard("h"), False),
    "no State where one is wanted": (finding(state=None), hazard("h"), False),
    "no State where none is": (finding(state=None, pattern="recompile_limit"), STATELESS, True),
    "a State where none is": (finding(pattern="recompile_limit"), STATELESS, False),
    "a side is in the region": (finding(), hazard("h", regions=("trace", "hop")), True),
    "no side is in the region": (finding(), hazard("h", regions=("hop",)), False),
    "forced, and the State alone counts": (finding(pattern="interference"), hazard("h"), True),
    "forced, and the hazard claims nothing": (
        finding(pattern="interference"), hazard("h", patterns=()), False
    ),
    "forced, and another State": (
        finding(pattern="interference", state="nn.module_call"), hazard("h"), False
    ),
    "it waits for what is named": (
        finding(state=None, pattern="hang", sides=CIRCLE),
        hazard("h", states=(), patterns=("hang",), waits_for=("lock L", "thread D")), True,
    ),
    "it waits for something else": (
        finding(state=None, pattern="hang", sides=CIRCLE[:1]),
        hazard("h", states=(), patterns=("hang",), waits_for=("lock L", "thread D")), False,
    ),
    "forced, and no State": (finding(pattern="interference", state=None), STATELESS, False),
}  # fmt: skip


@pytest.mark.parametrize("name", MATCHING)
def test_the_rule(name: str) -> None:
    given, known, matches = MATCHING[name]
    found = hazard_of(given, (known,))
    assert found == (known if matches else None)


def test_the_most_specific_wins_whatever_the_order() -> None:
    wide = hazard("a-wide", states=("fx.patcher", "nn.module_call"))
    narrow, narrower = hazard("b-narrow"), hazard("c-narrower", patterns=("exception",))
    regional = hazard("d-regional", states=wide.states, regions=("trace",))
    assert hazard_of(finding(), (wide, narrow)) == narrow
    assert hazard_of(finding(), (narrower, narrow, wide)) == narrower
    assert hazard_of(finding(), (narrower, regional)) == regional
    assert hazard_of(finding(), (hazard("z"), hazard("y"))) == hazard("y")


def test_a_finding_gets_slug_and_references_and_is_otherwise_as_it_was() -> None:
    (found,) = attributed((finding(),), (hazard("h"),))
    assert found == finding(hazard="h", references=("pytorch/pytorch#0", "pytorch/pytorch#1"))


def test_what_no_hazard_matches_is_uncatalogued_also_if_one_did_before() -> None:
    assert attributed((finding(hazard="gone"),), (STATELESS,)) == (finding(),)


@pytest.mark.parametrize(
    ("measured", "told"),
    [
        ("", "remedy of h"),
        ("locking=a survived", "remedy of h. Measured: locking=a survived"),
        ("remedy of h. Measured: b", "remedy of h. Measured: b"),
    ],
)
def test_a_row_gets_the_remedy_beside_what_was_measured(measured: str, told: str) -> None:
    (found,) = attributed((row(remedy=measured),), (hazard("h"),))
    assert found.remedy == told
    assert found.repro is None, "where the script lies is the pipeline's to say"


@pytest.mark.parametrize(
    ("tier", "slug"), [(Tier.FAILURE, "loud"), (Tier.SILENT_WRONG, "quiet"), (Tier.LEAK, "quiet")]
)
def test_of_two_hazards_of_one_state_how_it_showed_decides(tier: Tier, slug: str) -> None:
    known = (hazard("loud"), hazard("quiet", racy=Verdict.WRONG, regions=("trace",)))
    found = hazard_of(finding(pattern="interference", tier=tier), known)
    assert found is not None
    assert found.slug == slug


@pytest.mark.parametrize(("region", "slug"), [("trace", "a"), ("compile", "b"), ("", "c")])
def test_of_two_hazards_of_one_state_where_it_was_forced_decides(region: str, slug: str) -> None:
    known = (
        hazard("a", regions=("trace",)),
        hazard("b", regions=("compile",), states=("fx.patcher", "nn.module_call")),
        hazard("c", patterns=("leak", "race", "overlap")),
    )
    sides = (Side(thread="a", region=region, access="x"),)
    found = hazard_of(finding(pattern="interference", sides=sides), known)
    assert found is not None
    assert found.slug == slug
