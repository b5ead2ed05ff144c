"""Which compile repeats another thread's, by what the record tells of locks, reasons and frames."""

from __future__ import annotations

import pytest

from fxrace.core.detect import findings_in
from fxrace.records.event import Event
from tests.unit.core.evidence_of import STEPS, event, evidence
from tests.unit.core.samples_of_races import PASSED, A, B, compile_lock, compiled


def in_turn(first: str, second: str | None) -> tuple[Event, ...]:
    """``B`` waits while ``A`` compiles for the first time, then compiles; by frame number."""
    mine, other = (
        event("compile", thread, **{**compiled(thread, None).data, "id": number})
        for thread, number in ((A, first), (B, second))
    )
    return (compile_lock(B, "wait"), mine, compile_lock(B, "got"), other)


DUPLICATED: dict[str, tuple[tuple[Event, ...], bool]] = {
    "it waited for another's first compile": (
        (compile_lock(B, "wait"), compiled(A, None), compile_lock(B, "got"), compiled(B, None)),
        True,
    ),
    "it did not wait": ((compiled(A, None), compiled(B, None)), False),
    "it began to wait afterwards": (
        (compiled(A, None), compile_lock(B, "wait"), compile_lock(B, "got"), compiled(B, None)),
        False,
    ),
    "it waited for a function of the same name": (in_turn("0/0", "1/0"), False),
    "it waited for the same function": (in_turn("0/0", "0/1"), True),
    "a function whose number is not on record": (in_turn("0/0", None), True),
    "the same thread": ((compiled(A, None), compiled(A, PASSED)), False),
    "it was not compiled after all": ((compiled(A, None), compiled(B, PASSED, ok=False)), False),
}


@pytest.mark.parametrize("name", DUPLICATED)
def test_duplicates(name: str) -> None:
    events, duplicate = DUPLICATED[name]
    found = [finding.pattern for finding in findings_in(evidence(*STEPS, *events))]
    assert (found == ["duplicate_compile"]) == duplicate
