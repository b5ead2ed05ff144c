"""Traces for the detectors that reason about order: one that fires, one that must not, each."""

from __future__ import annotations

from fxrace.core.evidence import Evidence
from fxrace.core.timeline import COMPILE_LOCK
from fxrace.records.event import Event
from tests.unit.core.evidence_of import STEPS, event, evidence, locked, region, span

A, B = "drafter-0", "drafter-1"
PASSED = "0/0: Unexpected recompilation: runtime guards failed even though they passed during x"
EIGHT = "; ".join(f"0/{entry}: size mismatch" for entry in reversed(range(8)))

CROSSED = (
    region(A, "enter", "trace", 1),
    region(B, "enter", "trace", 2),
    region(A, "exit", "trace", 1),
    region(B, "exit", "trace", 2),
)
NESTED = (CROSSED[0], CROSSED[1], CROSSED[3], CROSSED[2])
GUARDED = (*locked(A, "step", *span(A, "trace", 1)), *locked(B, "step", *span(B, "trace", 2)))
TWO_LOCKS = (*locked(A, "one", *span(A, "trace", 1)), *locked(B, "two", *span(B, "trace", 2)))


def compiled(thread: str, reason: str | None, ok: bool = True) -> Event:
    return event("compile", thread, code="f", reason=reason, duration_s=0.5, ok=ok)


def compile_lock(thread: str, edge: str) -> Event:
    return event("lock", thread, edge=edge, lock=COMPILE_LOCK, owner=A)


def executions(**eager: int) -> Event:
    return event("executions", compiled={A: 5, B: 4}, eager=eager)


def took(thread: str, first: str, second: str) -> tuple[Event, ...]:
    return locked(thread, first, *locked(thread, second))


def config(made: str, seen: str, setting: str = "dynamo.recompile_limit") -> Event:
    """``A`` compiles and sees one value where the main thread has set another."""
    return event(
        "config", A, setting=setting,
        set={"thread": "MainThread", "value": made, "frames": [["/home/me/main.py", 1, "main"]]},
        seen={"thread": A, "value": seen, "frames": [["/home/me/work.py", 2, "work"]]},
    )  # fmt: skip


def rng(other: str, differ: bool) -> Event:
    """``A`` has recomputed its block; ``B`` was in a region ``other``."""
    frames = [["/home/me/train.py", 1, "train"]]
    beside = [{"thread": B, "region": other, "frames": frames}]
    return event("rng", A, name="block", differ=differ, frames=frames, others=beside)


FIRES: dict[str, Evidence] = {
    "race": evidence(*STEPS, *TWO_LOCKS),
    "overlap": evidence(*STEPS, *CROSSED),
    "near_miss": evidence(*STEPS, *span(A, "trace", 1, 1.0), *span(B, "trace", 2, 1.04)),
    "lock_order": evidence(*STEPS, *took(A, "a", "b"), *took(B, "b", "a")),
    "duplicate_compile": evidence(*STEPS, compiled(A, None), compiled(B, PASSED)),
    "silent_eager": evidence(*STEPS, event("executions", compiled={A: 5}, eager={B: 4})),
    "recompile_limit": evidence(*STEPS, compiled(A, EIGHT, ok=False)),
    "config_divergence": evidence(*STEPS, config("64", "8")),
    "checkpoint_rng": evidence(*STEPS, rng("checkpoint", differ=True)),
}

SILENT: dict[str, Evidence] = {
    "race": evidence(*STEPS, *GUARDED),
    "overlap": evidence(*STEPS, *NESTED),
    "near_miss": evidence(*STEPS, *span(A, "trace", 1, 1.0), *span(B, "trace", 2, 1.06)),
    "lock_order": evidence(
        *STEPS, *locked(A, "gate", *took(A, "a", "b")), *locked(B, "gate", *took(B, "b", "a"))
    ),
    "duplicate_compile": evidence(*STEPS, compiled(A, None), compiled(B, "0/0: size mismatch")),
    "silent_eager": evidence(*STEPS, event("executions", compiled={A: 5}, eager={A: 4, B: 0})),
    "recompile_limit": evidence(*STEPS, compiled(A, EIGHT, ok=False), compiled(A, EIGHT)),
    "config_divergence": evidence(*STEPS, compiled(A, EIGHT, ok=False)),
    "checkpoint_rng": evidence(*STEPS, *span(A, "checkpoint", 1), *span(A, "rng", 2)),
}
