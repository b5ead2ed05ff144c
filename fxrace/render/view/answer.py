"""The answer of a sweep in one sentence, and what each choice on its own did.

A *configuration* is what a program chooses: every knob except pressure. Pressure is the test
condition, so a configuration survives only if it survived under every pressure that was tried;
its speed is read where nothing was pressed, since holding threads slows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fxrace.core.interval import wilson
from fxrace.records.document import CellRow, SweepDocument
from fxrace.records.tally import Spread, Tally
from fxrace.records.verdict import Verdict
from fxrace.render.view import grid, words

CONDITION = "pressure"
CALM = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    """One choice of all knobs but pressure, judged over every pressure it ran under."""

    knobs: Mapping[str, str]
    verdicts: Mapping[str, int]
    failures: Tally
    throughput: Spread | None

    @property
    def survived(self) -> bool:
        return self.failures.n > 0 and self.failures.k == 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """One value of one axis, over everything it was combined with."""

    axis: str
    value: str
    verdicts: Mapping[str, int]
    failures: Tally
    survived: int
    judged: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """One sentence to act on, and how far to trust it (may be empty)."""

    headline: str
    detail: str


def configurations(document: SweepDocument) -> tuple[Configuration, ...]:
    """All configurations, in the order of the cells."""
    return _grouped(grid.configurations(document))


def choices(document: SweepDocument) -> tuple[Choice, ...]:
    """For each axis that varies, what each of its values did."""
    cells = grid.configurations(document)
    knobs = [cell.knobs for cell in cells]
    return tuple(
        _choice(axis, value, [c for c in cells if c.knobs.get(axis, grid.NO_VALUE) == value])
        for axis in grid.varied(document.axes, knobs)
        for value in grid.values(document.axes, axis, knobs)
    )


def conclude(document: SweepDocument) -> Answer:
    """What the sweep says; that it says nothing, when nothing was conclusive."""
    every = configurations(document)
    judged = [c for c in every if c.failures.n]
    if not judged:
        return Answer(headline=_nothing(every), detail=_cut(document))
    survivors = [c for c in judged if c.survived]
    names = grid.varied(document.axes, [c.knobs for c in every])
    timed = [(c.throughput.median, c) for c in survivors if c.throughput is not None]
    best = max(timed, key=lambda pair: pair[0])[1] if timed else None
    tail = _fastest(best, len(survivors), names) if survivors else _mildest(judged, names)
    unjudged = len(every) - len(judged)
    details = (
        _evidence(best) if best else "",
        f"{words.count(unjudged, 'configuration')} could not be judged." if unjudged else "",
        _cut(document),
    )
    headline = f"{_head(len(survivors), len(judged))}{tail}."
    return Answer(headline=headline, detail=" ".join(d for d in details if d))


def named(knobs: Mapping[str, str], names: tuple[str, ...]) -> str:
    """A configuration by what sets it apart: ``locking=step, checkpoint=reentrant``."""
    return ", ".join(f"{n}={knobs[n]}" for n in names if n in knobs)


def _chosen(cell: CellRow) -> dict[str, str]:
    return {axis: value for axis, value in cell.knobs.items() if axis != CONDITION}


def _configuration(cells: list[CellRow]) -> Configuration:
    verdicts = _added(cells)
    measured = [c for c in cells if c.throughput is not None]
    calm = [c for c in measured if c.knobs.get(CONDITION, CALM) == CALM]
    timed = calm or measured
    return Configuration(
        knobs=_chosen(cells[0]),
        verdicts=verdicts,
        failures=_failures(verdicts),
        throughput=timed[0].throughput if timed else None,
    )


def _grouped(cells: Iterable[CellRow]) -> tuple[Configuration, ...]:
    groups: dict[grid.Key, list[CellRow]] = {}
    for cell in cells:
        groups.setdefault(grid.key(_chosen(cell)), []).append(cell)
    return tuple(_configuration(members) for members in groups.values())


def _choice(axis: str, value: str, cells: list[CellRow]) -> Choice:
    verdicts = _added(cells)
    whole = _grouped(cells)
    return Choice(
        axis=axis,
        value=value,
        verdicts=verdicts,
        failures=_failures(verdicts),
        survived=sum(c.survived for c in whole),
        judged=sum(c.failures.n > 0 for c in whole),
    )


def _added(cells: list[CellRow]) -> dict[str, int]:
    total: dict[str, int] = {}
    for cell in cells:
        for verdict, number in cell.verdicts.items():
            total[verdict] = total.get(verdict, 0) + number
    return total


def _failures(verdicts: Mapping[str, int]) -> Tally:
    failed = sum(n for v, n in verdicts.items() if Verdict(v).failed)
    return wilson(failed, sum(n for v, n in verdicts.items() if Verdict(v).conclusive))


def _head(survivors: int, judged: int) -> str:
    if judged == 1:
        return "The one configuration " + ("survived every trial" if survivors else "failed")
    number = f"{survivors:,}" if survivors else "None"
    return f"{number} of {judged:,} configurations survived every trial"


def _fastest(best: Configuration | None, survivors: int, names: tuple[str, ...]) -> str:
    if best is None or best.throughput is None:
        return "; none of them reported its speed"
    figure = f"{words.figure(best.throughput.median)} draft slots/s"
    which = named(best.knobs, names)
    if survivors == 1:
        return f": {which}, at {figure}" if which else f", at {figure}"
    return f"; the fastest surviving one is {which}, at {figure}"


def _evidence(best: Configuration) -> str:
    clean = f"{best.failures.n} of {words.count(best.failures.n, 'trial')}"
    high = words.percent(best.failures.high)
    return f"It was clean in {clean}, so up to {high} % of its runs may still fail (95 %)."


def _cut(document: SweepDocument) -> str:
    return "The sweep was interrupted: this covers what ran." if document.interrupted else ""


def _mildest(judged: list[Configuration], names: tuple[str, ...]) -> str:
    best = min(judged, key=lambda c: (c.failures.k / c.failures.n, -c.failures.n))
    which = named(best.knobs, names)
    share = f"{best.failures.k} of {best.failures.n} trials"
    return f"; the fewest failures had {which}: {share}" if which else f" in {share}"


def _nothing(every: tuple[Configuration, ...]) -> str:
    total: dict[str, int] = {}
    for configuration in every:
        for verdict, number in configuration.verdicts.items():
            total[verdict] = total.get(verdict, 0) + number
    if not sum(total.values()):
        return "No trial has run, so nothing can be said."
    told = ", ".join(f"{number} {verdict}" for verdict, number in total.items() if number)
    return f"No trial was conclusive ({told}), so nothing can be said."
