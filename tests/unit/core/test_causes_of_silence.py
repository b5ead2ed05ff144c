"""Silent faults name their State and both sides: limits, settings, random numbers, eager calls."""

from __future__ import annotations

import pytest

from fxrace.core import program
from fxrace.core.compiles import refusals
from fxrace.core.detect import findings_in
from fxrace.core.timeline import regions
from fxrace.records.event import Event, Trace
from fxrace.records.finding import Finding, Tier
from tests.unit.core.evidence_of import STEPS, event, evidence, region
from tests.unit.core.samples_of_races import EIGHT, PASSED, A, B, compiled, config, rng

FRAMES = [["/home/me/serve.py", 7, "request"]]
STACKED = {"frames": FRAMES}


def stacked(thread: str, reason: str | None, *, ok: bool = True, **more: object) -> Event:
    data = {**compiled(thread, reason, ok=ok).data, **STACKED, **more}
    return event("compile", thread, **data)


def full(repeats: int, *, entries: int = 8) -> tuple[Event, ...]:
    """Compiles up to the limit, some of them repeats by ``B``; then another thread is refused."""
    own = [stacked(A, None if n == 0 else f"0/{n - 1}: size mismatch", id=f"0/{n}")
           for n in range(entries - repeats)]  # fmt: skip
    again = [stacked(B, PASSED, id=f"0/{entries - n}") for n in range(repeats)]
    return (*own, *again, stacked("drafter-2", EIGHT, ok=False, id=f"0/{entries}"))


def found(*events: Event) -> dict[str, Finding]:
    return {f.pattern: f for f in findings_in(evidence(*STEPS, *events))}


def in_a_program(*events: Event) -> dict[str, Finding]:
    return {f.pattern: f for f in program.conclude(Trace(events=events))}


def test_a_limit_used_up_by_repeats_names_the_cache_and_both_stacks() -> None:
    finding = found(*full(repeats=7))["recompile_limit"]
    assert (finding.tier, finding.state) == (Tier.SILENT_WRONG, "dynamo.cache_entries")
    assert [side.thread for side in finding.sides] == ["drafter-2", B]
    assert all(side.stack for side in finding.sides)
    assert in_a_program(*full(repeats=7))["recompile_limit"].tier is Tier.SILENT_WRONG


def test_a_limit_used_up_without_repeats_is_the_programs_own_doing() -> None:
    finding = in_a_program(*full(repeats=0))["recompile_limit"]
    assert (finding.tier, finding.state, len(finding.sides)) == (Tier.NEAR_MISS, None, 1)


def test_duplicates_have_both_stacks_and_stay_beside_the_limit_they_fill() -> None:
    both = found(*full(repeats=7))
    assert set(both) == {"recompile_limit", "duplicate_compile"}
    assert both["duplicate_compile"].state == "dynamo.cache_entries"
    assert all(side.stack for side in both["duplicate_compile"].sides)


@pytest.mark.parametrize(
    ("entries", "limit", "refused"), [(8, None, 1), (7, None, 0), (8, 64, 0), (64, 64, 1)]
)
def test_entries_are_counted_by_torch_where_the_record_has_them(
    entries: int, limit: int | None, refused: int
) -> None:
    last = stacked(A, "0/7: size mismatch", ok=False, entries=entries, limit=limit, id="0/9")
    assert len(refusals(Trace(events=(last,)))) == refused


def test_a_limit_that_another_thread_has_raised_is_not_seen() -> None:
    (finding,) = findings_in(
        evidence(*STEPS, config("64", "8"), stacked(A, EIGHT, ok=False, entries=8, id="0/8"))
    )
    assert (finding.pattern, finding.tier) == ("config_divergence", Tier.SILENT_WRONG)
    assert finding.state == "dynamo.config_of_context"
    assert [(side.thread, side.region) for side in finding.sides] == [
        (A, "compile"), ("MainThread", "config"),
    ]  # fmt: skip
    assert all(side.stack for side in finding.sides)


@pytest.mark.parametrize(
    "setting",
    [
        config("64", "8", setting="inductor.max_autotune"),
        config("8", "16"),
        config("True", "8"),
    ],
)
def test_a_setting_that_explains_no_refusal_stays_a_race(setting: Event) -> None:
    both = found(setting, compiled(A, EIGHT, ok=False))
    assert both["config_divergence"].tier is Tier.RACE
    assert both["recompile_limit"].tier is Tier.SILENT_WRONG


def test_a_setting_shared_by_all_threads_is_another_state() -> None:
    assert found(config("64", "64"))["config_divergence"].state == "dynamo.config"


@pytest.mark.parametrize(
    ("other", "differ", "tier"),
    [
        ("checkpoint", True, Tier.SILENT_WRONG),
        ("rng", True, Tier.SILENT_WRONG),
        ("rng", False, Tier.RACE),
        ("call", True, Tier.RACE),
    ],
)
def test_only_a_checkpoint_and_a_difference_prove_a_wrong_gradient(
    other: str, differ: bool, tier: Tier
) -> None:
    finding = found(rng(other, differ=differ))["checkpoint_rng"]
    assert (finding.tier, finding.state) == (tier, "rng.cpu")
    assert [side.thread for side in finding.sides] == [A, B]
    assert all(side.stack for side in finding.sides)


def test_overlapping_recomputes_are_evidence_for_the_wrong_gradient() -> None:
    crossed = (
        region(A, "enter", "rng", 1), region(B, "enter", "rng", 2),
        region(A, "exit", "rng", 1), region(B, "exit", "rng", 2),
    )  # fmt: skip
    assert set(found(*crossed)) == {"overlap"}
    both = found(*crossed, rng("rng", differ=True))
    assert set(both) == {"checkpoint_rng"}
    assert any(symptom.startswith("evidence: ") for symptom in both["checkpoint_rng"].symptoms)


def executions(compiled_in: str, eager_in: str) -> Event:
    codes = {"f": {"compiled": {compiled_in: 3}, "eager": {eager_in: 2}, "entries": 8}}
    return event("executions", compiled={A: 3, B: 3}, eager={eager_in: 2}, codes=codes)


def test_a_thread_is_accused_only_of_code_it_never_ran_compiled() -> None:
    assert set(found(executions(A, B))) == {"silent_eager"}
    assert found(executions(A, A)) == {}
    assert in_a_program(executions(A, B))["silent_eager"].tier is Tier.NEAR_MISS


def test_what_ran_uncompiled_is_told_by_the_limit_that_made_it() -> None:
    assert set(found(*full(repeats=7), executions(A, B))) == {
        "recompile_limit", "duplicate_compile",
    }  # fmt: skip


def test_a_region_without_a_stack_gets_what_a_thread_beside_it_saw() -> None:
    beside = [{"thread": A, "region": "rng", "frames": [["/home/me/a.py", 1, "a"]]}]
    entered = region(B, "enter", "rng", 3)
    told = event("region", B, **{**entered.data, "frames": FRAMES, "others": beside})
    spans = regions(Trace(events=(region(A, "enter", "recompute", 1),
                                  region(A, "enter", "rng", 2), told)))  # fmt: skip
    assert [span.stack[-1].function for span in spans] == ["a", "a", "request"]


def test_a_region_inside_another_has_its_stack() -> None:
    outer = event("region", A, **{**region(A, "enter", "compile", 1).data, **STACKED})
    spans = regions(Trace(events=(outer, region(A, "enter", "trace", 2))))
    assert [span.stack[-1].function for span in spans] == ["request", "request"]
