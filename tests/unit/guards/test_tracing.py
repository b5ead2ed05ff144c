"""``isolated`` and ``one_owner``: each schedule is red without them and green with either."""

from __future__ import annotations

import pytest
import torch

from tests.unit.guards.forked import outcome

NOW = tuple(int(word) for word in torch.__version__.split(".")[:2])
BOTH = ("isolated", "one_owner")

#: scenario: (first torch in which it is red, first in which it is not any more)
RED = {
    "flag_beside_make_fx": ((2, 0), (2, 14)),
    "flag_beside_compile": ((2, 0), (2, 13)),
    "eager_module_beside_trace": ((2, 0), None),
    "shared_module_beside_trace": ((2, 0), None),
    "overlapping_symbolic": ((2, 0), None),
    "overlapping_make_fx": ((2, 0), None),
    "compile_beside_trace": ((2, 5), None),
    "is_compiling_elsewhere": ((2, 13), None),
    "annotations": ((2, 9), None),
    "tracer_elsewhere": ((2, 4), None),
    "autowrapped": ((2, 0), None),
    "second_trace_after_the_first": ((2, 0), None),
    "nested_call_beside_a_subgraph": ((2, 0), (2, 14)),
}
GOOD = ("same_thread_nesting", "cond_works", "nested_call_after_anothers_trace")
OWNER = (
    "traces_at_once", "helper_thread_in_compile", "make_fx_then_export", "loads_at_once",
    "saves_at_once",
)  # fmt: skip
OWNERS = "owner_scenarios"


def red_now(name: str) -> bool:
    first, fixed = RED[name]
    return first <= NOW and (fixed is None or fixed > NOW)


def exists(name: str) -> None:
    if name == "annotations" and NOW < (2, 9):
        pytest.skip("this torch has no annotate")


@pytest.mark.parametrize("name", RED)
def test_it_is_red_without_a_guard(name: str) -> None:
    exists(name)
    assert bool(outcome(name)) is red_now(name)


@pytest.mark.parametrize("guard", BOTH)
@pytest.mark.parametrize("name", [*RED, *GOOD, "asked_while_others_trace"])
def test_it_is_green_with_one(name: str, guard: str) -> None:
    exists(name)
    assert outcome(name, (guard,)) == []


@pytest.mark.parametrize("name", GOOD)
def test_what_torch_does_stays_so_without_a_guard(name: str) -> None:
    assert outcome(name) == []


def test_both_at_once_are_as_good() -> None:
    assert outcome("overlapping_symbolic", BOTH) == []


@pytest.mark.parametrize("name", OWNER)
def test_one_owner_excludes_but_lets_in_whom_its_owner_waits_for(name: str) -> None:
    assert outcome(name, module=OWNERS) != []
    assert outcome(name, ("isolated",), module=OWNERS) != []
    assert outcome(name, ("one_owner",), module=OWNERS) == []
