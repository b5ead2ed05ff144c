"""The JSON document inside a sweep's page: everything its scripts draw, and nothing twice.

The surprise is the size: ten thousand trials have to fit, so a text is stored once and every
trial is a short array. Texts from trials pass ``words`` here, so no script has to know of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fxrace.records import wire
from fxrace.records.document import CellRow, SweepDocument, TrialRow
from fxrace.records.page import (
    CellLine,
    FindingLine,
    PageDocument,
    Point,
    Timeline,
    TrialLine,
    VerdictLine,
)
from fxrace.render.view import grid, words
from fxrace.render.view.answer import CONDITION

SCHEMA, SCHEMA_VERSION = "fxrace.page", 1
TEXTS, SYMPTOM, NOTE, LEAST = 200_000, 260, 120, 40
TIMELINES = 450_000
DIGEST = "%DIGEST%"
_VERDICTS = {verdict: number for number, verdict in enumerate(words.SEVERITY)}


class Texts:
    """Numbers texts. Once ``room`` characters are used up, new ones are cut short."""

    def __init__(self, room: int = TEXTS) -> None:
        self._numbers: dict[str, int] = {}
        self._room = room

    def number(self, text: str, limit: int) -> int:
        """-1 for no text."""
        shown = words.one_line(text, limit if self._room > 0 else min(limit, LEAST))
        if not shown:
            return -1
        if shown not in self._numbers:
            self._room -= len(shown)
        return self._numbers.setdefault(shown, len(self._numbers))

    def every(self) -> tuple[str, ...]:
        return tuple(self._numbers)


def page_data(
    document: SweepDocument,
    *,
    anchors: Mapping[str, str],
    points: Sequence[Point],
    timelines: Mapping[str, Timeline],
    hung: Sequence[str],
) -> PageDocument:
    """``anchors`` maps fingerprints to the ids of their cards, ``hung`` are digests."""
    rows = grid.configurations(document)
    varied = grid.varied(document.axes, [row.knobs for row in rows])
    axes = _axes(document, varied, rows)
    shown = {words.one_line(axis, 60): axes[axis] for axis in axes}
    texts = Texts()
    return PageDocument(
        schema=SCHEMA,
        schema_version=SCHEMA_VERSION,
        run=words.one_line(document.run, 60),
        axes={name: tuple(words.one_line(v, 60) for v in shown[name]) for name in shown},
        varied=tuple(words.one_line(name, 60) for name in varied),
        rows=next(iter(shown), ""),
        columns=next(iter(list(shown)[1:]), ""),
        condition=CONDITION,
        verdicts=_verdicts(),
        cells=tuple(_cell(row, axes) for row in rows),
        trials=tuple(_trials(document, rows, texts)),
        findings=_findings(document, anchors),
        points=tuple(points),
        timelines=_fitting(timelines),
        hung=tuple(hung),
        texts=texts.every(),
    )


def embedded(data: PageDocument) -> str:
    """The document as text that may stand inside a script element, whatever it holds."""
    text = wire.encode(data).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def cell_id(knobs: Mapping[str, str]) -> str:
    """Ten hex digits that name a combination, in this report and in any other."""
    text = json.dumps(dict(sorted(knobs.items())), separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:10]


def _axes(
    document: SweepDocument, varied: Sequence[str], rows: Sequence[CellRow]
) -> dict[str, tuple[str, ...]]:
    """Every axis that a cell has a value of, those that vary first."""
    knobs = [row.knobs for row in rows]
    names = dict.fromkeys((*varied, *document.axes, *(axis for one in knobs for axis in one)))
    return {
        axis: tuple(grid.values(document.axes, axis, knobs))
        for axis in names
        if any(axis in one for one in knobs)
    }


def _findings(document: SweepDocument, anchors: Mapping[str, str]) -> tuple[FindingLine, ...]:
    return tuple(
        FindingLine(
            fingerprint=words.one_line(row.fingerprint, 40),
            title=words.one_line(row.title, 160),
            tier=row.tier.value,
            anchor=anchors.get(row.fingerprint, ""),
        )
        for row in document.findings
    )


def _verdicts() -> tuple[VerdictLine, ...]:
    return tuple(
        VerdictLine(
            name=verdict.value,
            letter=words.LETTERS[verdict],
            meaning=words.MEANINGS[verdict],
            failed=verdict.failed,
        )
        for verdict in words.SEVERITY
    )


def _cell(row: CellRow, axes: Mapping[str, tuple[str, ...]]) -> CellLine:
    speed = row.throughput
    return CellLine(
        id=cell_id(row.knobs),
        knobs=tuple(
            known.index(row.knobs[axis]) if axis in row.knobs else -1
            for axis, known in axes.items()
        ),
        verdicts=tuple(
            (number, row.verdicts[v.value])
            for v, number in _VERDICTS.items()
            if row.verdicts.get(v.value)
        ),
        k=row.failure_rate.k,
        n=row.failure_rate.n,
        low=row.failure_rate.low,
        high=row.failure_rate.high,
        speed=None if speed is None else (_3(speed.median), _3(speed.low), _3(speed.high)),
    )


def _trials(document: SweepDocument, rows: Sequence[CellRow], texts: Texts) -> list[TrialLine]:
    cells = {grid.key(row.knobs): number for number, row in enumerate(rows)}
    causes = {row.fingerprint: number for number, row in enumerate(document.findings)}
    return [_trial(trial, cells, causes, texts) for trial in document.trials]


def _trial(
    trial: TrialRow, cells: Mapping[grid.Key, int], causes: Mapping[str, int], texts: Texts
) -> TrialLine:
    speed = trial.throughput
    command = trial.replay.replace(trial.digest, DIGEST)
    return TrialLine(
        digest=words.one_line(trial.digest, 40),
        cell=-1 if grid.reference(trial.knobs) else cells.get(grid.key(trial.knobs), -1),
        verdict=_VERDICTS[trial.verdict],
        repeat=trial.repeat,
        duration_s=round(trial.duration_s, 2),
        slots_per_s=_3(speed.draft_slots_per_s) if speed else None,
        compiles=trial.compiles,
        peak_memory_bytes=trial.peak_memory_bytes,
        symptom=texts.number(trial.symptom, SYMPTOM),
        note=texts.number("; ".join(trial.notes[:2]), NOTE),
        replay=texts.number(command, 1000),
        findings=tuple(causes[f] for f in trial.findings[:20] if f in causes),
    )


def _fitting(timelines: Mapping[str, Timeline]) -> dict[str, Timeline]:
    """As many as find room, in the order given, with their texts made fit to show."""
    found: dict[str, Timeline] = {}
    room = TIMELINES
    for digest, one in timelines.items():
        clean = replace(
            one,
            lanes=tuple(
                lane._replace(thread=words.one_line(lane.thread, 60)) for lane in one.lanes
            ),
            marks=tuple(mark._replace(told=words.one_line(mark.told, 200)) for mark in one.marks),
            texts=tuple(words.one_line(text, 100) for text in one.texts),
        )
        size = len(wire.encode(clean))
        if size <= room:
            found[digest] = clean
            room -= size
    return found


def _3(value: float) -> float:
    """Four significant digits are more than anybody reads."""
    return float(f"{value:.4g}")
