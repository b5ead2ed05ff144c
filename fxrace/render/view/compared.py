"""``diff``, ``gate`` and ``history`` as text: what changed, how surely, and how to see it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fxrace.core.baseline import sighted_in
from fxrace.core.interval import wilson
from fxrace.records.baseline import Entry
from fxrace.records.tally import Tally
from fxrace.records.triage import (
    Appearance,
    CellChange,
    Change,
    DiffDocument,
    FindingChange,
    GateDocument,
    HistoryDocument,
    Life,
    Subject,
)
from fxrace.render.view import words

SHOWN, CELLS, RUNS = 40, 40, 20


def diff(document: DiffDocument) -> str:
    """A line per cause and per changed cell, the new causes first."""
    return "\n".join(_diff(document)) + "\n"


def gate(document: GateDocument) -> str:
    """What is new, what is gone, and the answer in the last line."""
    return "\n".join(_gate(document)) + "\n"


def history(document: HistoryDocument) -> str:
    """A block per cause with a line per run that looked."""
    return "\n".join(_history(document)) + "\n"


def subject(one: Subject) -> str:
    """``run 3 (sweep, torch 2.13.0, 48 trials)``."""
    trials = words.count(one.trials, "conclusive trial")
    return words.one_line(f"{one.name} ({one.verb}, torch {one.torch}, {trials})", 300)


def _diff(document: DiffDocument) -> Iterator[str]:
    yield f"before: {subject(document.before)}"
    yield f"after:  {subject(document.after)}"
    if document.before.machine != document.after.machine:
        yield "the machines differ: speeds do not compare"
    for row in document.findings[:SHOWN]:
        yield from _change(row)
    yield from _more(len(document.findings) - SHOWN, "more cause")
    for cell in document.cells[:CELLS]:
        yield _cell(cell)
    yield from _more(len(document.cells) - CELLS, "more changed cell")
    counts = {
        change: sum(1 for row in document.findings if row.change is change) for change in Change
    }
    told = ", ".join(f"{number} {change.value}" for change, number in counts.items() if number)
    alone = f"; {document.only_before:,} cells only before, {document.only_after:,} only after"
    cells = words.count(len(document.cells), "cell")
    yield (
        f"causes: {told or 'none'}; {cells} changed, {document.unchanged:,} the same"
        f"{alone if document.only_before or document.only_after else ''}"
    )


def _change(row: FindingChange) -> Iterator[str]:
    mark = " (suppressed)" if row.suppressed is not None else ""
    yield f"{row.change.value.upper()}{mark} {row.tier.value} {words.one_line(row.title, 200)}"
    sure = {
        Change.NEW: "" if row.beyond_chance else ", which chance may explain",
        Change.GONE: "" if row.beyond_chance else ", which chance may explain",
        Change.UNASKED: ", where it was seen nothing ran this time",
    }.get(row.change, "")
    print_ = words.one_line(row.fingerprint, 40)
    yield f"   {print_}: {_rate(row.before)} before, {_rate(row.after)} after{sure}"
    if row.replay and row.change is not Change.SAME:
        yield f"   again: {words.one_line(row.replay, 400)}"


def _cell(cell: CellChange) -> str:
    told = [f"{_counts(cell.before)} -> {_counts(cell.after)}"]
    if cell.failures is not Change.SAME:
        told.append(f"fails {cell.failures.value} often")
    if cell.speed is not Change.SAME:
        how = "faster" if cell.speed is Change.MORE else "slower"
        before, after = words.spread(cell.throughput_before), words.spread(cell.throughput_after)
        told.append(f"{how}: {before} -> {after} draft slots/s")
    knobs = ", ".join(f"{name}={value}" for name, value in cell.knobs.items())
    return f"cell {words.one_line(knobs, 300)}: {'; '.join(told)}"


def _gate(document: GateDocument) -> Iterator[str]:
    for entry in document.new:
        yield from _new(entry, document)
    for name, reason in document.suppressed.items():
        yield f"suppressed {words.one_line(name, 40)}: {words.one_line(reason, 200)}"
    for what, entries in (("fixed", document.fixed), ("broken", document.broken)):
        for entry in entries[:SHOWN]:
            yield f"{what} {_entry(entry)}{_tests(entry)}"
            if what == "fixed":
                yield from _luck(entry, document.subject)
        yield from _more(len(entries) - SHOWN, "more")
    new, known = len(document.new), len(document.known)
    told = f"{new:,} new, {known:,} known, {len(document.fixed):,} no longer seen"
    yield f"{subject(document.subject)} against {words.one_line(document.baseline, 200)}: {told}"
    if document.updated:
        yield "the baseline is updated"
    elif document.blocking:
        yield f"blocked by {words.count(len(document.blocking), 'new finding')}"


def _new(entry: Entry, document: GateDocument) -> Iterator[str]:
    free = not document.updated and entry.fingerprint not in document.blocking
    yield f"new {_entry(entry)}{' (does not block: not proven)' if free else ''}"
    if again := document.replay.get(entry.fingerprint):
        yield f"   again: {words.one_line(again, 400)}"


def _entry(entry: Entry) -> str:
    tier = f"{entry.tier.value} " if entry.tier else ""
    return f"{words.one_line(entry.fingerprint, 60)}: {tier}{words.one_line(entry.title, 200)}"


def _tests(entry: Entry) -> str:
    tests = sighted_in(entry)
    return f" (in {words.one_line(', '.join(tests), 200)})" if tests else ""


def _luck(entry: Entry, one: Subject) -> Iterator[str]:
    """How a cause that shows rarely may just not have shown."""
    before = entry.seen[0].reliability
    now = wilson(0, one.trials)
    if one.trials and before.low <= now.high:
        yield (
            f"   it showed in {words.rate(before)} and now in {words.rate(now)}: "
            "chance may explain that"
        )


def _history(document: HistoryDocument) -> Iterator[str]:
    for life in document.lives[:SHOWN]:
        yield from _life(life)
    yield from _more(len(document.lives) - SHOWN, "more cause")
    runs = words.count(document.runs, "run")
    yield (
        f"{words.count(len(document.lives), 'cause')} in {runs} of "
        f"{words.one_line(document.store, 300)}"
    )


def _life(life: Life) -> Iterator[str]:
    name, title = words.one_line(life.fingerprint, 40), words.one_line(life.title, 200)
    yield f"{name} {life.tier.value} {title}"
    yield f"   {words.hazard(life.hazard)}; first seen in run {life.first}, last in run {life.last}"
    for row in life.runs[-RUNS:]:
        yield f"   {_appearance(row)}"
    yield from (f"   {line}" for line in _more(len(life.runs) - RUNS, "earlier run"))


def _appearance(row: Appearance) -> str:
    torch = words.one_line(row.torch, 40)
    seen = words.rate(row.seen) if row.seen.k else f"not seen in {row.seen.n}"
    return f"run {row.run} {words.one_line(row.started, 40)} {row.verb} torch {torch}: {seen}"


def _rate(tally: Tally | None) -> str:
    return "not tried" if tally is None else words.rate(tally)


def _counts(verdicts: Mapping[str, int]) -> str:
    told = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items())
    return words.one_line(told, 200) or "nothing"


def _more(number: int, noun: str) -> Iterable[str]:
    return [f"... and {words.count(number, noun)}"] if number > 0 else []
