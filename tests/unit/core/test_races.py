"""What the detectors of order say, what is folded into what, and clean programs: no false claim."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fxrace.core.borrowing import states_of
from fxrace.core.detect import findings_in
from fxrace.core.judge import judge
from fxrace.records.event import Event
from fxrace.records.finding import Finding, Tier
from fxrace.records.outcome import Stop
from fxrace.records.verdict import Verdict
from tests.unit.core.evidence_of import STEPS, event, evidence, locked, region, span, sync
from tests.unit.core.samples_of_races import (
    CROSSED,
    EIGHT,
    FIRES,
    GUARDED,
    NESTED,
    SILENT,
    A,
    B,
    compiled,
    executions,
    took,
)
from tests.unit.core.test_detect import PATCHER, STACKS, USER, WRAPPER, attention, leak, raised

SURE = {Tier.FAILURE, Tier.SILENT_WRONG, Tier.LEAK}
KINDS = ("trace", "flex_eager", "rng", "config", "compile")


def found(*events: Event) -> list[str]:
    return [finding.pattern for finding in findings_in(evidence(*STEPS, *events))]


def only(*events: Event) -> Finding:
    (finding,) = findings_in(evidence(*STEPS, *events))
    return finding


def test_a_swap_and_its_race_are_one_finding_that_names_the_patcher() -> None:
    finding = only(*CROSSED)
    assert (finding.pattern, finding.tier, finding.state) == ("overlap", Tier.RACE, "fx.patcher")
    assert [(side.thread, side.region) for side in finding.sides] == [(A, "trace"), (B, "trace")]


def guard(edge: str, *keeps: str) -> Event:
    return event("guard", A, edge=edge, guard="isolated", keeps=list(keeps))


def test_what_a_guard_keeps_per_thread_is_no_race_while_it_is_on() -> None:
    everything = [state.name for state in states_of("trace")]
    assert found(guard("on", *everything), *CROSSED) == []
    assert found(guard("on", *everything), guard("off"), *CROSSED) == ["overlap"]
    assert found(guard("on", *everything), CROSSED[0], guard("off"), *CROSSED[1:]) == ["overlap"]


def test_a_guard_that_keeps_one_state_leaves_the_next_to_race() -> None:
    first, second = states_of("trace")[:2]
    assert only(guard("on", first.name), *CROSSED).state == second.name


def test_traces_that_nest_race_all_the_same() -> None:
    assert found(*NESTED) == ["race"]


def test_many_pairs_are_one_finding() -> None:
    again = (
        region(one.thread, one.data["edge"], "trace", one.data["number"] + 10) for one in CROSSED
    )
    assert found(*CROSSED, *again) == ["overlap"]


def test_the_lock_that_both_took_is_an_order_and_two_locks_are_none() -> None:
    assert found(*GUARDED) == []
    finding = findings_in(FIRES["race"])[0]
    assert [side.locks_held for side in finding.sides] == [("one",), ("two",)]


def test_threads_whose_locks_are_not_on_record_race_only_where_they_overlap() -> None:
    started = (sync(A, "release", "q", "queue"), sync(B, "release", "r", "queue"))
    assert found(*started, *span(A, "trace", 1), *span(B, "trace", 2)) == ["near_miss"]


def test_compile_lock_orders_what_lies_inside_compiles() -> None:
    inside = [
        (
            region(t, "enter", "compile", n),
            *span(t, "trace", n + 1),
            region(t, "exit", "compile", n),
        )
        for t, n in ((A, 1), (B, 3))
    ]
    assert found(*inside[0], *inside[1]) == []


def test_one_thread_that_nests_is_alone() -> None:
    outer, inner = span(A, "trace", 1), span(A, "trace", 2)
    assert found(outer[0], *inner, outer[1]) == []


def test_the_stack_of_a_region_is_shown_where_it_was_recorded() -> None:
    enter = CROSSED[0]
    told = event("region", A, **{**enter.data, "frames": [USER]})
    assert [bool(side.stack) for side in only(told, *CROSSED[1:]).sides] == [True, False]


def test_a_race_is_evidence_for_the_failure_over_the_same_region() -> None:
    alone = findings_in(evidence(raised(PATCHER)))
    (finding,) = findings_in(evidence(*CROSSED, raised(PATCHER)))
    assert finding.fingerprint == alone[0].fingerprint
    assert (finding.tier, finding.pattern) == (Tier.FAILURE, "exception")
    assert {side.thread for side in finding.sides} == {A, B}
    assert len(finding.symptoms) > len(alone[0].symptoms)


def test_a_race_goes_to_the_failure_of_its_own_state_first() -> None:
    flag, patcher = findings_in(evidence(*CROSSED, raised(WRAPPER), raised(PATCHER)))
    assert (flag.state, patcher.state) == ("fx.tracing_flag", "fx.patcher")
    assert (len(flag.symptoms) == 1, len(patcher.symptoms) > 1) == (True, True)


def test_a_race_explains_a_leak_and_silences_a_near_miss() -> None:
    apart = (*span(A, "trace", 7, 1.0), *span(B, "trace", 8, 1.01))
    assert found(*CROSSED, *apart, leak("fx.patcher")) == ["leak"]
    assert found(*CROSSED, *apart) == ["overlap"]


def test_a_race_over_another_kind_of_region_stays_by_itself() -> None:
    exports = (region(A, "enter", "export", 1), region(B, "enter", "export", 2))
    assert found(*exports, raised(PATCHER)) == ["exception", "race"]


WRONG = ("silent_eager", "recompile_limit", "checkpoint_rng")


@pytest.mark.parametrize("name", [name for name in FIRES if name not in WRONG])
def test_what_is_not_proved_changes_no_verdict(name: str) -> None:
    given_ = FIRES[name]
    findings = findings_in(given_)
    assert {finding.tier for finding in findings} <= {Tier.RACE, Tier.NEAR_MISS}
    assert judge(given_, findings).verdict is Verdict.CLEAN


@pytest.mark.parametrize("name", WRONG)
def test_what_was_silently_done_otherwise_is_wrong(name: str) -> None:
    assert judge(FIRES[name], findings_in(FIRES[name])).verdict is Verdict.WRONG
    assert judge(SILENT[name], findings_in(SILENT[name])).verdict is Verdict.CLEAN


INVERTED: dict[str, tuple[tuple[Event, ...], bool]] = {
    "two threads": ((*took(A, "a", "b"), *took(B, "b", "a")), True),
    "one thread alone": ((*took(A, "a", "b"), *took(A, "b", "a")), False),
    "the same order": ((*took(A, "a", "b"), *took(B, "a", "b")), False),
    "a gate in one thread only": (
        (*locked(A, "gate", *took(A, "a", "b")), *took(B, "b", "a")), True,
    ),
    "three threads in a ring": (
        (*took(A, "a", "b"), *took(B, "b", "c"), *took("drafter-2", "c", "a")), True,
    ),
    "a lock that is only waited for": (
        (
            *took(A, "a", "b"), sync(B, "acquire", "lock:b"),
            event("lock", B, edge="wait", lock="a", owner=A),
        ),
        True,
    ),
    "against compile_lock": (
        (
            *locked(A, "a", *span(A, "compile", 1)), region(B, "enter", "compile", 2),
            *locked(B, "a"), region(B, "exit", "compile", 2),
        ),
        True,
    ),
    "taken again": ((*locked(A, "a", *locked(A, "a")), *locked(B, "a", *locked(B, "a"))), False),
}  # fmt: skip


@pytest.mark.parametrize("name", INVERTED)
def test_lock_orders(name: str) -> None:
    events, inverted = INVERTED[name]
    assert (found(*events) == ["lock_order"]) == inverted


@pytest.mark.parametrize(("second", "folded"), [("a", True), ("c", False)])
def test_opposite_orders_that_became_a_deadlock_are_that_deadlock(
    second: str, folded: bool
) -> None:
    waits = (
        sync(A, "acquire", "lock:a"), sync(B, "acquire", "lock:b"),
        event("lock", A, edge="wait", lock="b", owner=B),
        event("lock", B, edge="wait", lock="a", owner=A),
    )  # fmt: skip
    other = () if folded else (*took(A, second, "d"), *took(B, "d", second))
    hung = evidence(*other, *waits, stop=Stop.SILENT, stacks=STACKS, complete=False)
    patterns = [finding.pattern for finding in findings_in(hung)]
    assert patterns == (["hang"] if folded else ["hang", "lock_order"])


def test_a_program_that_compiles_nothing_anywhere_meant_it() -> None:
    assert found(event("executions", compiled={}, eager={A: 4, B: 4})) == []
    assert found(executions(**{"drafter-2": 1})) == ["silent_eager"]


def test_a_limit_of_its_own_is_obeyed_and_a_fall_back_has_its_reason() -> None:
    raised_limit = event("compile", A, **{**compiled(A, EIGHT, ok=False).data, "limit": 64})
    assert found(raised_limit) == []
    finding = only(compiled(A, EIGHT, ok=False), attention(fused=True, dense=3))
    assert finding.pattern == "dense"
    assert len(finding.symptoms) == 2


def alone(thread: str, number: int) -> tuple[Event, ...]:
    """What one thread does in one step: a compile with a trace in it, then a bare trace."""
    compile_ = region(thread, "enter", "compile", number), region(thread, "exit", "compile", number)
    inner = span(thread, "trace", number + 1)
    compiles = compiled(thread, None if number == 0 else f"{number}/0: size mismatch")
    return (compile_[0], *inner, compile_[1], compiles, *span(thread, "trace", number + 2))


def by_one_thread(threads: list[str], kinds: list[str]) -> tuple[Event, ...]:
    return tuple(e for i, _ in enumerate(threads) for e in alone("MainThread", i * 3))


def by_turns(threads: list[str], kinds: list[str]) -> tuple[Event, ...]:
    return tuple(e for i, t in enumerate(threads) for e in locked(t, "step", *alone(t, i * 3)))


def by_hand_over(threads: list[str], kinds: list[str]) -> tuple[Event, ...]:
    events: list[Event] = []
    for number, thread in enumerate(threads):
        events += [sync(thread, "acquire", "baton", "queue"), *alone(thread, number * 3)]
        events += [sync(thread, "release", "baton", "queue")]
    return tuple(events)


def each_its_own(threads: list[str], kinds: list[str]) -> tuple[Event, ...]:
    """No two threads ever do the same kind of thing; they overlap as they like."""
    own = dict(zip("abc", kinds, strict=True))
    enters = [region(t, "enter", own[t], i) for i, t in enumerate(threads)]
    exits = [region(t, "exit", own[t], i) for i, t in enumerate(threads)]
    return (*enters, *reversed(exits))


@pytest.mark.parametrize("program", [by_one_thread, by_turns, by_hand_over, each_its_own])
@settings(max_examples=60, deadline=None)
@given(
    threads=st.lists(st.sampled_from("abc"), min_size=1, max_size=7),
    kinds=st.permutations(["trace", "export", "rng"]),
    cut=st.integers(0, 60),
)
def test_nothing_is_claimed_about_a_clean_program(
    program: Callable[[list[str], list[str]], tuple[Event, ...]],
    threads: list[str],
    kinds: list[str],
    cut: int,
) -> None:
    events = program(threads, kinds)
    assert findings_in(evidence(*STEPS, *events)) == ()
    cut_off = findings_in(evidence(*STEPS, *events[: len(events) - cut], complete=False))
    assert not {finding.tier for finding in cut_off} & (SURE - {Tier.FAILURE})


def test_what_counts_as_borrowing() -> None:
    named = {kind: [state.name for state in states_of(kind)] for kind in KINDS}
    assert named["trace"][0] == "fx.patcher"
    assert named["flex_eager"] == [], "annotate, inside it, is a span of its own"
    assert [state.name for state in states_of("annotate")] == ["fx.traceback_meta"]
    assert named["rng"] == ["rng.cpu"]
    assert named["config"] == [], "per thread from torch 2.12 on"
    assert not {"dynamo.counters", "dynamo.code_state"} & set(named["compile"])
