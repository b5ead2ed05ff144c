"""The timeline of a trial: lanes, slices that nest, lock waits, State changes, the collision."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from fxrace.records.document import FindingRow, SweepDocument
from fxrace.records.event import Event, Trace
from fxrace.records.finding import Side
from fxrace.records.verdict import Verdict
from fxrace.render.perfetto import Recorded, render_traces
from tests.unit.render import chrome_trace, documents
from tests.unit.render.test_formats import HOSTILE, Huge

MAIN, A, B = ("MainThread", 1), ("drafter-0", 2), ("drafter-1", 3)
FRAMES = [["/src/train.py", 7, "step"]]


def event(at_s: float, who: tuple[str, int], kind: str, **data: Any) -> Event:
    return Event(at_s=at_s, thread=who[0], ident=who[1], kind=kind, data=data)


def enter(at_s: float, who: tuple[str, int], region: str, number: int, **more: Any) -> Event:
    given = {"edge": "enter", "region": region, "name": "flex", "number": number, **more}
    return event(at_s, who, "region", **given)


def leave(at_s: float, who: tuple[str, int], region: str, number: int) -> Event:
    return event(at_s, who, "region", edge="exit", region=region, name="flex", number=number)


def other(who: tuple[str, int], region: str) -> dict[str, Any]:
    return {"thread": who[0], "region": region, "frames": FRAMES}


ERROR = {"type": "AssertionError", "message": "CURRENT_PATCHER is None", "frames": FRAMES}
EVENTS = (
    event(0.0, MAIN, "phase", name="run"),
    enter(0.1, A, "compile", 1),
    event(0.2, B, "lock", edge="wait", lock="compile_lock", owner=A[0]),
    enter(0.3, A, "trace", 2),
    event(0.4, B, "lock", edge="got", lock="compile_lock", owner=B[0]),
    enter(0.5, B, "trace", 3, others=[other(A, "trace")]),
    leave(0.6, A, "compile", 1),  # an error left the outer region first
    leave(0.7, A, "trace", 2),
    event(0.8, B, "raised", role=B[0], error=ERROR, others=[other(A, "trace")]),
    event(0.9, MAIN, "leak", state="nn.module_call", attribute="m:a", before="f", after="g"),
)


def cause(**changes: Any) -> FindingRow:
    sides = (
        Side(thread=B[0], region="trace", access="meets fx.patcher"),
        Side(thread=A[0], region="trace", access="holds fx.patcher"),
    )
    return documents.finding(("1" * 16,), **{"state": "fx.patcher", "sides": sides, **changes})


def drawn(events: Iterable[Event], *rows: FindingRow) -> str:
    found = tuple(row.fingerprint for row in rows)
    trial = documents.trial({"locking": "none"}, 1, Verdict.RAISED, findings=found)
    document: SweepDocument = documents.document([trial], findings=rows)
    return render_traces(document, [Recorded(trial=trial, trace=Trace(events=tuple(events)))])


def test_lanes_regions_and_lock_waits() -> None:
    chart = chrome_trace.read(drawn(EVENTS, cause()))
    assert list(chart.threads.values()) == [MAIN[0], A[0], B[0]]
    spans = {
        (chart.thread(one), one["name"]): (one["ts"] / 1e6, one["dur"] / 1e6)
        for one in chart.slices
        if one["cat"] != "collision"
    }
    assert spans == {
        (A[0], "compile flex"): (0.1, pytest.approx(0.5)),
        (A[0], "trace flex"): (0.3, pytest.approx(0.3)),
        (B[0], "waits for compile_lock"): (0.2, pytest.approx(0.2)),
        (B[0], "trace flex"): (0.5, pytest.approx(0.4)),
    }
    unfinished = [one for one in chart.slices if one["args"].get("unfinished")]
    assert [chart.thread(one) for one in unfinished] == [B[0]]


def test_the_collision_is_in_both_threads_with_an_arrow() -> None:
    row = cause()
    chart = chrome_trace.read(drawn(EVENTS, row))
    marks = [one for one in chart.slices if one["cat"] == "collision"]
    assert {chart.thread(one) for one in marks} == {A[0], B[0]}
    assert {one["ts"] / 1e6 for one in marks} == {0.8}
    assert {one["args"]["fingerprint"] for one in marks} == {row.fingerprint}
    ((start, end),) = chart.arrows
    assert (chart.thread(start), chart.thread(end)) == (A[0], B[0])


def test_two_causes_of_one_moment_are_both_marked() -> None:
    rows = (cause(), cause(fingerprint="other", state="fx.tracing_flag"))
    chart = chrome_trace.read(drawn(EVENTS, *rows))
    marks = [one for one in chart.slices if one["cat"] == "collision"]
    assert {(one["name"], one["dur"]) for one in marks} == {
        ("collision: fx.patcher", 10.0), ("collision: fx.tracing_flag", 10.0)
    }  # fmt: skip
    assert len(chart.arrows) == 2


def test_changes_of_a_state_are_instants() -> None:
    chart = chrome_trace.read(drawn(EVENTS, cause()))
    (leak,) = (one for one in chart.instants if one["cat"] == "state")
    assert (leak["name"], leak["args"]["after"]) == ("leak nn.module_call", "g")


def test_without_a_finding_there_is_no_collision() -> None:
    chart = chrome_trace.read(drawn(EVENTS))
    assert not chart.arrows
    assert not [one for one in (*chart.slices, *chart.instants) if one["cat"] == "collision"]


def test_a_collision_that_one_thread_alone_recorded() -> None:
    leak = cause(state="nn.module_call", sides=(Side(thread="gone", region="trace", access="x"),))
    chart = chrome_trace.read(drawn(EVENTS, leak))
    (mark,) = (one for one in chart.slices if one["cat"] == "collision")
    assert (chart.thread(mark), mark["ts"]) == (MAIN[0], 0.9e6)
    assert not chart.arrows


def test_a_region_that_begins_right_after_a_collision_keeps_its_length() -> None:
    events = (*EVENTS[:-1], enter(0.800005, B, "hop", 9), leave(0.85, B, "hop", 9), EVENTS[-1])
    chart = chrome_trace.read(drawn(events, cause()))
    (hop,) = (one for one in chart.slices if one["name"] == "hop flex")
    assert hop["dur"] == pytest.approx(49_995, abs=1)


def test_hostile_text() -> None:
    bad = (HOSTILE, 7)
    huge = Huge(HOSTILE + "y" * 10_000_000)
    events = (
        enter(0.1, bad, HOSTILE, 1, frames=[[huge, 1, huge]]),
        event(0.2, bad, "leak", state=huge, before=huge, after=huge),
        event(0.3, bad, "lock", edge="wait", lock=huge, owner=huge),
        event(0.4, bad, "raised", role=huge, error={**ERROR, "message": huge}),
    )
    text = drawn(events, cause(title=huge, state=huge, fingerprint=HOSTILE, replay=huge))
    chart = chrome_trace.read(text)
    assert len(text) < 50_000
    assert "\x1b" not in text
    assert chart.slices


def test_an_empty_record_draws_nothing() -> None:
    assert chrome_trace.read(drawn((), cause())).slices == ()


@pytest.mark.parametrize("broken", ['"ph":"X"', '"ph":"s"', '"s":"t"'])
def test_the_reader_refuses_what_is_none(broken: str) -> None:
    text = drawn(EVENTS, cause())
    assert broken in text
    with pytest.raises((AssertionError, KeyError)):
        chrome_trace.read(text.replace(broken, '"ph":"Q"' if "ph" in broken else '"s":"z"', 1))


COLLISION = """
SELECT thread.name AS thread, slice.name AS name FROM slice
JOIN thread_track ON slice.track_id = thread_track.id JOIN thread USING (utid)
WHERE slice.category = 'collision' AND slice.dur > 0
"""


def test_perfettos_own_reader_finds_the_collision(tmp_path: Path) -> None:
    """Needs ``pip install perfetto`` and its trace_processor_shell, which pip does not bring."""
    binary = os.environ.get("FXRACE_TRACE_PROCESSOR") or shutil.which("trace_processor_shell")
    if binary is None:
        pytest.skip("no trace_processor_shell: name one in FXRACE_TRACE_PROCESSOR")
    processor = pytest.importorskip("perfetto.trace_processor", reason="pip install perfetto")
    path = tmp_path / "trace.json"
    path.write_text(drawn(EVENTS, cause()))
    config = processor.TraceProcessorConfig(bin_path=binary)
    with processor.TraceProcessor(trace=str(path), config=config) as opened:
        rows = [(row.thread, row.name) for row in opened.query(COLLISION)]
        problems = list(opened.query("SELECT * FROM stats WHERE severity = 'error' AND value > 0"))
    assert sorted(rows) == [(A[0], "collision: fx.patcher"), (B[0], "collision: fx.patcher")]
    assert problems == []
