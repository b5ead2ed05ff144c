"""What the report of a sweep shows, as plain values: every decision is here, none in the template.

The surprise is the budget: a sweep of 500 trials with endless messages must still open as one
small file, so what a reader would not read is counted instead of printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fxrace.records.document import FindingRow, SweepDocument, TrialRow
from fxrace.records.outcome import ThreadStack
from fxrace.records.page import Exhibits, PageDocument, Point
from fxrace.records.stuck import Edge
from fxrace.records.verdict import Verdict
from fxrace.render.view import grid, words
from fxrace.render.view.answer import Answer, Choice, choices, conclude, named
from fxrace.render.view.cards import Card, Cards, anchors
from fxrace.render.view.front import points
from fxrace.render.view.pace import Pace, pace
from fxrace.render.view.page_data import page_data
from fxrace.render.view.stacks import Room, Stack
from fxrace.render.view.versions import Versions, versions

FINDINGS, ALIKE, STACKED_TRIALS, THREADS, STACKS = 24, 30, 8, 12, 200_000
ONE = "the one configuration"


@dataclass(frozen=True, kw_only=True, slots=True)
class Alike:
    """Failing trials with the same verdict and message, told once; ``first`` is one of them."""

    verdict: Verdict
    symptom: str
    first: TrialRow
    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """One edge of the waits of a hung trial, with the waiter's stack folded."""

    edge: Edge
    stack: Stack


@dataclass(frozen=True, kw_only=True, slots=True)
class Stuck:
    """A hung trial: who waits for whom, and where its threads stood, the program's own first.

    ``closed`` is True when the waits are a circle.
    """

    trial: TrialRow
    label: str
    waits: tuple[Waiting, ...]
    closed: bool
    threads: tuple[tuple[ThreadStack, Stack], ...]
    left_out: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """Everything on the page. The ``more_*`` counts say what was left out of it."""

    answer: Answer
    totals: tuple[tuple[Verdict, int], ...]
    choices: tuple[Choice, ...]
    names: tuple[str, ...]
    cards: tuple[Card, ...]
    alike: tuple[Alike, ...]
    stuck: tuple[Stuck, ...]
    references: tuple[TrialRow, ...]
    """Those that did not end clean come first."""
    points: tuple[tuple[str, Point], ...]
    pace: Pace
    versions: Versions
    data: PageDocument
    failing: int
    oversubscribed: bool
    more_findings: int
    more_alike: int
    more_stuck: int

    @property
    def shares(self) -> dict[str, int]:
        """The totals by name, as the strip wants them."""
        return {verdict.value: number for verdict, number in self.totals}


def _references(document: SweepDocument) -> tuple[TrialRow, ...]:
    found = [trial for trial in document.trials if grid.reference(trial.knobs)]
    return tuple(sorted(found, key=lambda trial: trial.verdict is Verdict.CLEAN))


def page(document: SweepDocument, exhibits: Exhibits) -> Page:
    """Decide what to show of a sweep."""
    own = [trial for trial in document.trials if not grid.reference(trial.knobs)]
    names = grid.varied(document.axes, [row.knobs for row in grid.configurations(document)])
    failing = [trial for trial in own if trial.verdict.failed]
    stuck = [trial for trial in failing if trial.stacks]
    alike, placed = _alike(failing), points(document)
    room = Room(STACKS)
    cards = _cards(document, exhibits, names, room)
    hung = tuple(_stuck(trial, exhibits, names, room) for trial in stuck[:STACKED_TRIALS])
    return Page(
        answer=conclude(document),
        totals=_totals(own),
        choices=choices(document),
        names=names,
        cards=cards,
        alike=alike[:ALIKE],
        stuck=hung,
        references=_references(document),
        points=placed,
        pace=pace(document),
        versions=versions(exhibits.hazards, document.findings),
        data=page_data(
            document,
            anchors={card.row.fingerprint: card.anchor for card in cards},
            points=[point for _, point in placed],
            timelines=exhibits.timelines,
            hung=[words.one_line(one.trial.digest, 40) for one in hung],
        ),
        failing=len(failing),
        oversubscribed=any(t.throughput and t.throughput.oversubscribed for t in own),
        more_findings=max(0, len(document.findings) - FINDINGS),
        more_alike=max(0, len(alike) - ALIKE),
        more_stuck=max(0, len(stuck) - STACKED_TRIALS),
    )


def _cards(
    document: SweepDocument, exhibits: Exhibits, names: tuple[str, ...], room: Room
) -> tuple[Card, ...]:
    shown = document.findings[:FINDINGS]
    maker, links = Cards(exhibits, document.environment, room), anchors(shown)
    return tuple(
        maker.card(row, _seen_in(row, document, names), links[row.fingerprint]) for row in shown
    )


def _totals(trials: list[TrialRow]) -> tuple[tuple[Verdict, int], ...]:
    counted = ((v, sum(trial.verdict is v for trial in trials)) for v in Verdict)
    return tuple((verdict, number) for verdict, number in counted if number)


def _seen_in(
    row: FindingRow, document: SweepDocument, names: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    wanted = set(row.trials)
    seen: dict[str, int] = {}
    for trial in document.trials:
        if trial.digest in wanted:
            label = named(trial.knobs, names) or ONE
            seen[label] = seen.get(label, 0) + 1
    return tuple((label, words.count(number, "trial")) for label, number in seen.items())


def _alike(failing: list[TrialRow]) -> tuple[Alike, ...]:
    groups: dict[tuple[Verdict, str], list[TrialRow]] = {}
    for trial in failing:
        groups.setdefault((trial.verdict, trial.symptom), []).append(trial)
    most_first = sorted(groups.items(), key=lambda pair: -len(pair[1]))
    return tuple(
        Alike(verdict=verdict, symptom=symptom, first=trials[0], number=len(trials))
        for (verdict, symptom), trials in most_first
    )


def _stuck(trial: TrialRow, exhibits: Exhibits, names: tuple[str, ...], room: Room) -> Stuck:
    edges = exhibits.waits.get(trial.digest, ())
    pairs = [(thread, room.fold(thread.frames)) for thread in trial.stacks[: 2 * THREADS]]
    pairs.sort(key=lambda pair: not pair[1].own)
    return Stuck(
        trial=trial,
        label=named(trial.knobs, names) or ONE,
        waits=tuple(Waiting(edge=edge, stack=room.fold(edge.stack)) for edge in edges[:THREADS]),
        closed=_closed(edges),
        threads=tuple(pairs[:THREADS]),
        left_out=max(0, len(trial.stacks) - THREADS),
    )


def _closed(edges: tuple[Edge, ...]) -> bool:
    """True when each waits for the next and the last for the first."""
    following: Mapping[str, str | None] = {edge.waiter: edge.held_by for edge in edges}
    turned = (*edges[1:], *edges[:1])
    return bool(edges) and all(
        following[edge.waiter] == after.waiter for edge, after in zip(edges, turned, strict=True)
    )
