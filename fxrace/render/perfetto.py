"""The records of trials as Chrome trace JSON: opens in Perfetto and in chrome://tracing.

A process per trial, a lane per thread. Regions and lock waits are slices, changes of a State are
instants, and a collision is a thin slice in both threads with an arrow between them. This format
is drawn from the events that trials recorded, so it has ``render_traces`` instead of ``render``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from fxrace.records.document import SweepDocument, TrialRow
from fxrace.records.event import Trace
from fxrace.render.view import answer, grid, words
from fxrace.render.view.lanes import COLLISION, Collision, Lane, Lanes, lanes

MICROSECONDS = 1e6
FACT = 1000
Plain = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """One trial and what it recorded."""

    trial: TrialRow
    trace: Trace


def render_traces(document: SweepDocument, recorded: Sequence[Recorded]) -> str:
    """One JSON object in the trace event format; times are microseconds since a trial began."""
    known = {row.fingerprint: row for row in document.findings}
    knobs = [cell.knobs for cell in grid.configurations(document)]
    names = grid.varied(document.axes, knobs)
    arrows = count(1)
    events: list[Plain] = []
    for pid, one in enumerate(recorded, start=1):
        findings = [known[name] for name in one.trial.findings if name in known]
        drawn = lanes(one.trace, findings)
        events += _named(pid, one.trial, names, drawn)
        events += _drawn(pid, drawn, arrows)
    log = {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {
            "fxrace": words.one_line(document.environment.fxrace, 60),
            "run": words.one_line(document.run, 60),
            "torch": words.one_line(document.environment.torch, 60),
            "python": words.one_line(document.environment.python, 60),
        },
    }
    return json.dumps(log, ensure_ascii=False, separators=(",", ":")) + "\n"


def _named(pid: int, trial: TrialRow, names: tuple[str, ...], drawn: Lanes) -> Iterator[Plain]:
    told = f"{trial.verdict.value} {answer.named(trial.knobs, names)} {trial.digest}"
    yield _meta(pid, 0, "process_name", name=words.one_line(told, 200))
    yield _meta(pid, 0, "process_sort_index", sort_index=pid)
    for tid, (thread, _) in enumerate(drawn.lanes, start=1):
        yield _meta(pid, tid, "thread_name", name=words.one_line(thread, 80) or "thread")
        yield _meta(pid, tid, "thread_sort_index", sort_index=tid)


def _meta(pid: int, tid: int, what: str, **given: object) -> Plain:
    return {"ph": "M", "pid": pid, "tid": tid, "ts": 0, "name": what, "args": given}


def _drawn(pid: int, drawn: Lanes, arrows: Iterator[int]) -> Iterator[Plain]:
    tids = {lane: tid for tid, lane in enumerate(drawn.lanes, start=1)}

    def at(lane: Lane, when_s: float) -> Plain:
        return {"pid": pid, "tid": tids[lane], "ts": round(when_s * MICROSECONDS, 1)}

    for span in drawn.spans:
        where = at(span.lane, span.start_s)
        # From the rounded ends, so that rounding cannot push a slice out of its surroundings.
        length = max(0.0, round(span.end_s * MICROSECONDS, 1) - where["ts"])
        yield {
            "ph": "X", **where, "dur": round(length, 1), "cat": span.kind,
            "name": words.one_line(span.name, 120) or span.kind, "args": _args(span.facts),
        }  # fmt: skip
    for moment in drawn.moments:
        yield {
            "ph": "i", "s": "t", **at(moment.lane, moment.at_s), "cat": moment.kind,
            "name": words.one_line(moment.name, 120), "args": _args(moment.facts),
        }  # fmt: skip
    for collision in drawn.collisions:
        yield from _collided(collision, at, arrows)


def _collided(collision: Collision, at: Any, arrows: Iterator[int]) -> Iterator[Plain]:
    """An instant over the whole process, and the arrow between the marks of the two threads."""
    what = {"cat": COLLISION, "name": words.one_line(collision.name, 120)}
    here = at(collision.lane, collision.at_s)
    yield {"ph": "i", "s": "p", **here, **what, "args": _args(collision.facts)}
    if collision.other is not None:
        there, arrow = at(collision.other, collision.at_s), next(arrows)
        yield {"ph": "s", "id": arrow, **there, **what}
        yield {"ph": "f", "bp": "e", "id": arrow, **here, **what}


def _args(facts: Any) -> Plain:
    """Plain values, texts made fit to show; what is not known is left out."""
    return {
        words.one_line(str(name), 60): words.safe(value, FACT) if isinstance(value, str) else value
        for name, value in facts.items()
        if value is not None
    }
