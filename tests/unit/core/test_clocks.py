"""The happens-before engine against a brute-force closure, and each kind of edge by itself."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxrace.core.borrowing import followed, met, unordered
from fxrace.core.clocks import clocks_of
from fxrace.core.timeline import COMPILE_LOCK, Meeting, Region, meeting, regions
from fxrace.records.event import Event, Trace
from tests.unit.core.evidence_of import event, region, span, sync

THREADS = ("a", "b", "c")


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Small traces of three threads: syncs, waits, regions that begin, end, nest and stay open."""
    events: list[Event] = []
    open_: dict[str, list[tuple[str, int]]] = {thread: [] for thread in THREADS}
    for number in range(draw(st.integers(0, 18))):
        thread = draw(st.sampled_from(THREADS))
        what = draw(st.sampled_from(("sync", "sync", "enter", "enter", "exit", "exit", "lock")))
        if what == "sync":
            edge, key = draw(st.sampled_from(("release", "acquire"))), draw(st.sampled_from("xy"))
            events.append(sync(thread, edge, key))
        elif what == "lock":
            edge, owner = draw(st.sampled_from(("wait", "got"))), draw(st.sampled_from(THREADS))
            events.append(event("lock", thread, edge=edge, lock="l", owner=owner))
        elif what == "enter":
            kind = draw(st.sampled_from(("trace", "trace", "compile", "export")))
            open_[thread].append((kind, number))
            events.append(region(thread, "enter", kind, number))
        elif open_[thread]:
            events.append(region(thread, "exit", *open_[thread].pop()))
    return Trace(events=tuple(events))


def closure(trace: Trace) -> set[tuple[int, int]]:
    """Every ordered pair of positions, by definition and without any clock."""
    events = trace.events
    edges = {(i, j) for i, j in combinations(range(len(events)), 2) if _edge(events, i, j)}
    ordered = set(edges)
    for middle in range(len(events)):
        before = [i for i, j in ordered if j == middle]
        after = [j for i, j in ordered if i == middle]
        ordered |= set(product(before, after))
    return ordered


def _edge(events: tuple[Event, ...], i: int, j: int) -> bool:
    early, late = events[i], events[j]
    if early.ident == late.ident:
        return True
    released = _key(early, "release", "exit")
    if released is not None and released == _key(late, "acquire", "enter"):
        return True
    return (late.kind, late.data["edge"]) == ("lock", "got") and _owned_then(events, i, j)


def _owned_then(events: tuple[Event, ...], i: int, j: int) -> bool:
    """The wait that this got ends named a thread that had done event i before the wait began."""
    mine = [k for k in range(j) if events[k].ident == events[j].ident and events[k].kind == "lock"]
    if not mine or events[mine[-1]].data["edge"] != "wait":
        return False
    began = mine[-1]
    return i < began and events[i].thread == events[began].data["owner"]


def _key(one: Event, sync_edge: str, region_edge: str) -> str | None:
    if one.kind == "sync" and one.data["edge"] == sync_edge:
        return str(one.data["key"])
    compiles = one.kind == "region" and one.data["region"] == "compile"
    return "compile_lock" if compiles and one.data["edge"] == region_edge else None


@settings(max_examples=300, deadline=None)
@given(traces())
def test_clocks_equal_the_transitive_closure(trace: Trace) -> None:
    clocks, ordered = clocks_of(trace), closure(trace)
    for i, j in combinations(range(len(trace.events)), 2):
        assert clocks.before(i, j) == ((i, j) in ordered), (i, j)


@settings(max_examples=300, deadline=None)
@given(traces())
def test_a_race_is_found_where_and_only_where_there_is_one(trace: Trace) -> None:
    told = {one.ident for one in trace.of("sync")}
    ordered, spans = closure(trace), regions(trace)
    wanted: set[tuple[str, int, Meeting]] = set()
    for first, second in combinations(spans, 2):
        races = any(
            (min(i, j), max(i, j)) not in ordered for i, j in product(_ends(first), _ends(second))
        )
        alike = first.kind == second.kind and first.ident != second.ident
        apart = meeting(first, second) is Meeting.APART
        if alike and races and (not apart or {first.ident, second.ident} <= told):
            wanted.add((first.kind, second.entered, meeting(first, second)))
    found = {(p.first.kind, p.second.entered, p.how) for p in unordered(trace)}
    assert found == wanted


def _ends(one: Region) -> list[int]:
    return [at for at in (one.entered, one.left) if at is not None]


ORDERED: dict[str, tuple[Event, ...]] = {
    "an acquire follows every earlier release": (
        sync("a", "release", "k"), sync("c", "release", "k"), sync("b", "acquire", "k"),
    ),
    "compiles follow each other": (*span("a", "compile", 1), *span("b", "compile", 2)),
    "what the owner had done when the wait began": (
        event("note", "a"), event("lock", "b", edge="wait", lock="l", owner="a"),
        event("lock", "b", edge="got", lock="l", owner=None),
    ),
}  # fmt: skip

UNORDERED: dict[str, tuple[Event, ...]] = {
    "another key": (sync("a", "release", "k"), sync("b", "acquire", "other")),
    "an acquire before the release": (sync("b", "acquire", "k"), sync("a", "release", "k")),
    "traces": (*span("a", "trace", 1), *span("b", "trace", 2)),
    "what the owner did after the wait began": (
        event("lock", "a", edge="wait", lock="l", owner="b"), event("note", "b"),
        event("lock", "a", edge="got", lock="l", owner=None),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERED)
def test_ordered(name: str) -> None:
    events = ORDERED[name]
    assert clocks_of(Trace(events=events)).before(0, len(events) - 1)


@pytest.mark.parametrize("name", UNORDERED)
def test_unordered(name: str) -> None:
    events = UNORDERED[name]
    first = next(i for i, one in enumerate(events) if one.kind != "lock")
    assert not clocks_of(Trace(events=events)).before(first, len(events) - 1)


def test_regions_nest_per_thread_and_may_stay_open() -> None:
    outer, inner = span("a", "compile", 1), span("a", "trace", 2)
    spans = regions(Trace(events=(outer[0], *inner, *span("b", "trace", 3)[:1], outer[1])))
    assert [(r.kind, r.depth, r.left) for r in spans] == [
        ("compile", 0, 4), ("trace", 1, 2), ("trace", 0, None),
    ]  # fmt: skip
    assert spans[1].locks == (COMPILE_LOCK,)
    assert meeting(spans[0], spans[2]) is Meeting.CROSSED
    assert not list(met(spans))


def test_an_end_without_a_beginning_is_no_region() -> None:
    assert regions(Trace(events=span("a", "trace", 1)[1:])) == ()


def test_only_the_last_region_that_a_thread_has_ended_is_compared() -> None:
    events = (*span("a", "trace", 1), *span("a", "trace", 2), *span("b", "trace", 3))
    trace = Trace(events=events)
    (pair,) = followed(regions(trace), clocks_of(trace))
    assert pair.first.entered == 2
