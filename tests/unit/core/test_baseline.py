"""New, known and gone, per verb and torch; and a file that changes only when something did."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fxrace.core.baseline import EMPTY, Look, apart, compare, updated
from fxrace.core.interval import wilson
from fxrace.core.looks import look_at
from fxrace.records import wire
from fxrace.records.baseline import Baseline, Entry, Place, Sighting
from fxrace.records.document import RunDocument
from fxrace.records.finding import Tier
from fxrace.records.repro import Judgement, ReproDocument, ReproRow, TwinRow
from fxrace.records.verdict import Verdict
from tests.unit.render import documents, explorations

SWEEP_212, SWEEP_213 = (Place(verb="sweep", torch=f"2.{minor}.0") for minor in (12, 13))
EXPLORE_213 = Place(verb="explore", torch="2.13.0")


def entry(name: str, *places: Place, k: int = 3, n: int = 4) -> Entry:
    return Entry(
        fingerprint=name, title=f"cause {name}", tier=Tier.FAILURE, state="fx.patcher", hazard=None,
        seen=tuple(Sighting(place=place, reliability=wilson(k, n)) for place in places),
    )  # fmt: skip


def known(*entries: Entry) -> Baseline:
    return replace(EMPTY, entries=entries)


def look(*entries: Entry, at: Place = SWEEP_213, trials: int = 10) -> Look:
    return Look(entries=entries, settled={at: trials})


def names(entries: tuple[Entry, ...]) -> list[str]:
    return [one.fingerprint for one in entries]


def test_new_known_and_fixed() -> None:
    told = compare(
        known(entry("a", SWEEP_213), entry("b", SWEEP_213)),
        look(entry("b", SWEEP_213), entry("c", SWEEP_213)),
    )
    assert (names(told.new), names(told.known), names(told.fixed)) == (["c"], ["b"], ["a"])


@pytest.mark.parametrize(
    "at", [EXPLORE_213, SWEEP_212], ids=["another verb", "another torch"]
)  # fmt: skip
def test_who_did_not_look_clears_nothing(at: Place) -> None:
    baseline = known(entry("a", SWEEP_213))
    assert compare(baseline, look(at=at)).fixed == ()
    assert updated(baseline, look(at=at)) == baseline
    assert names(compare(baseline, look()).fixed) == ["a"]


def test_what_was_cut_off_clears_nothing() -> None:
    baseline = known(entry("a", SWEEP_213))
    assert compare(baseline, Look(entries=())).fixed == ()
    assert updated(baseline, Look(entries=())) == baseline


def test_known_on_one_torch_is_known_on_the_next() -> None:
    told = compare(known(entry("a", SWEEP_212)), look(entry("a", SWEEP_213)))
    assert (names(told.new), names(told.known)) == ([], ["a"])


def test_an_update_passes_and_is_stable() -> None:
    seen = look(entry("b", SWEEP_213), entry("a", SWEEP_213))
    first = updated(known(entry("gone", SWEEP_213, EXPLORE_213)), seen)
    assert names(first.entries) == ["a", "b", "gone"]
    assert [one.place for one in first.entries[2].seen] == [EXPLORE_213]
    assert compare(first, seen).new == ()
    assert updated(first, seen) == first


@pytest.mark.parametrize(("k", "n", "kept"), [(2, 4, True), (200, 4000, False)])
def test_a_rate_changes_the_file_only_beyond_chance(k: int, n: int, kept: bool) -> None:
    baseline = known(entry("a", SWEEP_213, k=40, n=50))
    again = updated(baseline, look(entry("a", SWEEP_213, k=k, n=n)))
    assert (again == baseline) is kept


def test_intervals_apart() -> None:
    assert apart(wilson(0, 50), wilson(50, 50))
    assert not apart(wilson(1, 4), wilson(3, 4))
    assert not apart(wilson(0, 0), wilson(5, 5))


def row(slug: str, judgement: Judgement, torch: str = "2.13.0") -> ReproRow:
    k = 5 if judgement is Judgement.REPRODUCED else 0
    twin = TwinRow(verdict=Verdict.RAISED if k else Verdict.CLEAN, k=k, n=5)
    return ReproRow(
        slug=slug, python="/usr/bin/python", torch=torch, racy=twin, guarded=twin,
        judgement=judgement, reason="",
    )  # fmt: skip


def catalogue(*rows: ReproRow) -> Look:
    return look_at(
        ReproDocument(
            schema="fxrace.repro", schema_version=1, results=rows, hazards=(), problems={},
            interrupted=False,
        )
    )  # fmt: skip


SHOWS, ABSENT, BROKEN = Judgement.REPRODUCED, Judgement.NOT_REPRODUCED, Judgement.BROKEN


@pytest.mark.parametrize(
    ("was", "now", "field"),
    [(SHOWS, SHOWS, "known"), (SHOWS, ABSENT, "fixed"), (ABSENT, SHOWS, "new"),
     (SHOWS, BROKEN, "broken"), (ABSENT, ABSENT, None), (BROKEN, BROKEN, None)],
)  # fmt: skip
def test_judgements_of_the_catalogue(was: Judgement, now: Judgement, field: str | None) -> None:
    baseline = updated(EMPTY, catalogue(row("a", was), row("a", SHOWS, "2.12.0")))
    told = compare(baseline, catalogue(row("a", now)))
    seen = {one: names(getattr(told, one)) for one in ("new", "known", "fixed", "broken")}
    assert seen == {one: ["repro:a"] if one == field else [] for one in seen}


def test_a_catalogue_keeps_a_row_per_torch() -> None:
    first = updated(EMPTY, catalogue(row("a", SHOWS, "2.12.0"), row("a", ABSENT, "2.13.0")))
    again = updated(first, catalogue(row("a", SHOWS, "2.13.0")))
    seen = {one.place.torch: one.judgement for one in again.entries[0].seen}
    assert seen == {"2.12.0": SHOWS, "2.13.0": SHOWS}


def test_looks_of_documents() -> None:
    sweep = documents.sweep(repeats=1)
    judged = [t for t in sweep.trials if t.verdict.conclusive and t.knobs["execution"] != "oracle"]
    place = Place(verb="sweep", torch=sweep.environment.torch)
    assert look_at(sweep).settled == {place: len(judged)}
    assert names(look_at(sweep).entries) == [row.fingerprint for row in sweep.findings]
    assert look_at(replace(sweep, interrupted=True)).settled == {}
    explored = explorations.exploration()
    assert [place.verb for place in look_at(explored).settled] == ["explore"]


def program(torch: str | None, *, timed_out: bool = False) -> RunDocument:
    return RunDocument(
        schema="fxrace.run", schema_version=1, command=("x.py",), exit_status=0,
        timed_out=timed_out, runs=3, torch=torch, findings=(), regions={}, overlaps=0, blind=(),
        record="",
    )  # fmt: skip


def test_a_program_that_was_not_watched_settles_nothing() -> None:
    assert look_at(program(None)).settled == {}
    assert look_at(program("2.13.0", timed_out=True)).settled == {}
    assert look_at(program("2.13.0")).settled == {Place(verb="run", torch="2.13.0"): 3}


def test_the_file_comes_back_equal() -> None:
    baseline = updated(EMPTY, look(entry("a", SWEEP_213), entry("b", SWEEP_213)))
    assert wire.decode(Baseline, wire.pretty(baseline)) == baseline
