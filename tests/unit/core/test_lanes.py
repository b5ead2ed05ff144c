"""Timelines, decisive moments and wait-for edges, from small traces and a recorded deadlock."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fxrace.core.lanes import LOCK_WAIT, timeline
from fxrace.core.moments import MOST, collision, moments
from fxrace.core.rings import edges_of
from fxrace.launch import py_spy
from fxrace.launch.record_file import EVENTS, read_trace
from fxrace.records.document import FindingRow
from fxrace.records.event import Event, Trace
from fxrace.records.finding import Side, Tier
from fxrace.records.page import LaneKind, MarkKind
from tests.unit.core.evidence_of import event, region, span, sync
from tests.unit.render import documents

A, B = "drafter-0", "drafter-1"
DEADLOCK = Path(__file__).parents[2] / "golden" / "deadlock-compile-lock-device-thread"


def timed(*events: Event) -> Trace:
    """These events, a millisecond apart."""
    return Trace(events=tuple(replace(one, at_s=n / 1000) for n, one in enumerate(events)))


def finding(kinds: tuple[str, str] = ("trace", "trace"), tier: Tier = Tier.FAILURE) -> FindingRow:
    first, second = kinds
    sides = (Side(thread=A, region=first, access="meets it"),
             Side(thread=B, region=second, access="holds it"))  # fmt: skip
    return documents.finding(("0" * 16,), sides=sides, tier=tier, state="fx.patcher")


def raised(thread: str) -> Event:
    error = {"type": "E", "message": "m", "frames": []}
    return event("raised", thread, role=thread, error=error, others=[])


CROSSED = (
    region(B, "enter", "trace", 1),
    region(A, "enter", "trace", 2),
    region(B, "exit", "trace", 1),
    region(A, "exit", "trace", 2),
)


def test_every_thread_has_a_lane_and_every_region_a_span() -> None:
    drawn = timeline(timed(event("phase", name="setup"), *CROSSED))
    assert [(lane.thread, lane.kind) for lane in drawn.lanes] == [
        ("MainThread", LaneKind.MAIN), (B, LaneKind.THREAD), (A, LaneKind.THREAD),
    ]  # fmt: skip
    assert [(s.lane, s.begin_s, s.end_s, s.depth) for s in drawn.spans] == [
        (1, 0.001, 0.003, 0), (2, 0.002, 0.004, 0),
    ]  # fmt: skip
    assert {drawn.texts[s.kind] for s in drawn.spans} == {"trace"}
    assert drawn.end_s == 0.004
    assert not drawn.left_out


def test_an_empty_record_has_no_lane() -> None:
    drawn = timeline(Trace())
    assert not drawn.lanes
    assert not drawn.spans
    assert drawn.end_s == 0


def test_a_thread_of_the_engine_is_a_device_lane() -> None:
    backward = sync("pt_autograd_0", "acquire", "backward:1", "backward")
    answer = sync(A, "acquire", "backward:1:return", "backward")
    drawn = timeline(timed(backward, answer, *span("Dummy-3", "trace", 1)))
    kinds = {lane.thread: lane.kind for lane in drawn.lanes}
    assert kinds["pt_autograd_0"] is kinds["Dummy-3"] is LaneKind.DEVICE
    assert kinds[A] is LaneKind.THREAD


def test_a_wait_lies_below_the_region_it_happens_in_and_may_never_end() -> None:
    inside = (
        region(A, "enter", "trace", 1),
        event("lock", A, edge="wait", lock="L", owner=B),
        event("lock", A, edge="got", lock="L", owner=None),
        region(A, "exit", "trace", 1),
        event("lock", A, edge="wait", lock="M", owner=None),
    )
    drawn = timeline(timed(*inside))
    waits = [s for s in drawn.spans if drawn.texts[s.kind] == LOCK_WAIT]
    assert [(s.begin_s, s.end_s, s.depth) for s in waits] == [(0.001, 0.002, 1), (0.004, None, 0)]
    assert [drawn.texts[s.name] for s in waits] == [f"L, held by {B}", "M"]


def test_of_many_spans_the_long_and_outer_ones_stay() -> None:
    events = [region(A, "enter", "compile", 0)]
    for number in range(1, 40):
        events += span(A, "trace", number)
    drawn = timeline(timed(*events, region(A, "exit", "compile", 0)), most=10)
    assert len(drawn.spans) == 10
    assert drawn.left_out == 30
    assert drawn.spans[0].depth == 0


def test_marks_say_what_went_wrong_and_where_threads_collided() -> None:
    trace = timed(*CROSSED, raised(A), event("leak", state="fx.patcher", after="None"))
    found = collision(trace, finding())
    assert found is not None
    told = [(found.late.ident, found.late.entered_s, "the title")]
    marks = timeline(trace, told).marks
    assert [(mark.kind, mark.at_s) for mark in marks] == [
        (MarkKind.COLLISION, 0.001), (MarkKind.RAISED, 0.004), (MarkKind.LEAK, 0.005),
    ]  # fmt: skip
    assert marks[1].told == "E: m"


def test_the_swap_is_the_later_entry() -> None:
    shown = moments(timed(*CROSSED, raised(A)), finding())
    assert [(m.side, m.at_s, m.swap) for m in shown] == [
        (1, 0.0, False), (0, 0.001, True), (1, 0.002, False), (0, 0.003, False), (0, 0.004, False),
    ]  # fmt: skip


def test_threads_that_never_met_have_no_collision() -> None:
    apart = timed(*span(A, "trace", 1), *span(B, "trace", 2))
    assert collision(apart, finding()) is None
    assert [m.at_s for m in moments(apart, finding())] == [None] * 4
    one_sided = replace(finding(), sides=finding().sides[:1])
    assert moments(apart, one_sided) == ()


def test_a_side_in_a_plain_call_may_be_in_any_region() -> None:
    assert collision(timed(*CROSSED), finding(("call", "trace"))) is not None


@pytest.mark.parametrize("tier", [Tier.FAILURE, Tier.RACE])
def test_an_error_is_decisive_only_where_the_finding_is_the_failure(tier: Tier) -> None:
    shown = moments(timed(*CROSSED, raised(A)), finding(tier=tier))
    assert any("raises" in m.told for m in shown) is (tier is Tier.FAILURE)


def test_there_are_never_more_than_a_few() -> None:
    assert len(moments(timed(*CROSSED, *[raised(A)] * 9), finding())) == MOST


def test_a_recorded_deadlock_closes_its_circle() -> None:
    stacks = py_spy.parse((DEADLOCK / "py-spy.json").read_text())
    edges = edges_of(read_trace(DEADLOCK / EVENTS), stacks)
    assert len(edges) >= 2
    followed = [edge.held_by for edge in edges]
    assert followed == [edge.waiter for edge in (*edges[1:], edges[0])]
    assert all(edge.stack for edge in edges)


def test_nobody_waits_in_an_empty_trial() -> None:
    assert edges_of(Trace(), ()) == ()
