"""What each document saw, in the one form that a baseline understands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from fxrace.core.baseline import Look
from fxrace.core.expand import REFERENCE_KNOBS
from fxrace.core.interval import wilson
from fxrace.records.baseline import Entry, Place, Sighting
from fxrace.records.document import FindingRow, RunDocument, SweepDocument
from fxrace.records.exploration import ExploreDocument, PairVerdict
from fxrace.records.hazard import Hazard
from fxrace.records.repro import Judgement, ReproDocument, ReproRow
from fxrace.records.testing import Became, PytestDocument

CATALOGUE = "repro:"
#: The mode of a document of the suite of known hazards.
SUITE = "suite"
_SAYS_NOTHING = frozenset({PairVerdict.INCONCLUSIVE, PairVerdict.SKIPPED})


def look_at(
    document: SweepDocument | ExploreDocument | RunDocument | ReproDocument | PytestDocument,
) -> Look:
    """The causes in a document and how far it settles the absence of others."""
    if isinstance(document, SweepDocument):
        return of_sweep(document)
    if isinstance(document, ExploreDocument):
        return of_exploration(document)
    if isinstance(document, PytestDocument):
        return of_tests(document)
    return of_program(document) if isinstance(document, RunDocument) else of_catalogue(document)


def of_findings(
    rows: Iterable[FindingRow], *, verb: str, torch: str, trials: int, complete: bool
) -> Look:
    """Findings of any door; ``trials`` that say something, ``complete`` when none is missing."""
    place = Place(verb=verb, torch=torch)
    return Look(
        entries=tuple(
            Entry(
                fingerprint=row.fingerprint,
                title=row.title,
                tier=row.tier,
                state=row.state,
                hazard=row.hazard,
                seen=(Sighting(place=place, reliability=row.reliability),),
            )
            for row in rows
        ),
        settled={place: trials} if complete and trials else {},
    )


def of_sweep(document: SweepDocument) -> Look:
    judged = [
        trial
        for trial in document.trials
        if trial.verdict.conclusive and trial.knobs.get("execution") != REFERENCE_KNOBS["execution"]
    ]
    return of_findings(
        document.findings, verb="sweep", torch=document.environment.torch,
        trials=len(judged), complete=not document.interrupted,
    )  # fmt: skip


def of_exploration(document: ExploreDocument) -> Look:
    judged = [pair for pair in document.pairs if pair.verdict not in _SAYS_NOTHING]
    return of_findings(
        document.findings, verb="explore", torch=document.environment.torch,
        trials=len(judged), complete=not document.interrupted,
    )  # fmt: skip


def of_program(document: RunDocument) -> Look:
    """A program that never imported torch was not watched, so it settles nothing."""
    return of_findings(
        document.findings, verb="run", torch=document.torch or "none",
        trials=document.runs if document.torch else 0, complete=not document.timed_out,
    )  # fmt: skip


def of_catalogue(document: ReproDocument) -> Look:
    """One Entry per script, with a sighting per torch; broken and inapplicable ones are kept
    with their judgement, since a row that changes from one of these is news.
    """
    return Look(entries=_scripts(document.results, document.hazards))


def of_tests(document: PytestDocument) -> Look:
    """The causes that tests found, and, of the suite of known hazards, what its scripts showed."""
    said = [test for test in document.tests if test.became is not Became.NOTHING]
    found = of_findings(
        document.findings, verb="pytest", torch=document.torch,
        trials=len(said), complete=document.complete,
    )  # fmt: skip
    if document.mode == SUITE:
        found = _each_settles(found, document)
    return replace(found, entries=found.entries + _scripts(document.results, document.hazards))


def _each_settles(found: Look, document: PytestDocument) -> Look:
    """The same with a sighting per test: each has one pair and is deterministic, so that a run
    of a few says of these few what is gone.
    """
    places = {
        test.test: Place(verb="pytest", torch=document.torch, what=test.test.rpartition("::")[2])
        for test in document.tests
    }

    def sightings(entry: Entry) -> tuple[Sighting, ...]:
        (seen,) = entry.seen
        shown = {t.test for t in document.tests if entry.fingerprint in t.findings}
        return tuple(replace(seen, place=places[test]) for test in sorted(shown))

    return Look(
        entries=tuple(replace(entry, seen=sightings(entry)) for entry in found.entries),
        settled={places[t.test]: 1 for t in document.tests if t.verdict not in _SAYS_NOTHING},
    )


def _scripts(results: Iterable[ReproRow], hazards: Iterable[Hazard]) -> tuple[Entry, ...]:
    rows: dict[str, list[ReproRow]] = defaultdict(list)
    for row in results:
        rows[row.slug].append(row)
    titles = {hazard.slug: hazard.title for hazard in hazards}
    return tuple(
        Entry(
            fingerprint=f"{CATALOGUE}{slug}",
            title=titles.get(slug, slug),
            tier=None,
            state=None,
            hazard=slug,
            seen=tuple(_judged(row) for row in each),
        )
        for slug, each in rows.items()
    )


def _judged(row: ReproRow) -> Sighting:
    shown = row.racy.k if row.judgement is Judgement.REPRODUCED else 0
    return Sighting(
        place=Place(verb="repro", torch=row.torch),
        reliability=wilson(shown, row.racy.n),
        judgement=row.judgement,
    )
