"""``isolated`` and ``one_owner`` keep dispatch modes apart: red without, green with either."""

from __future__ import annotations

import pytest

from tests.unit.guards.forked import outcome

BOTH = ("isolated", "one_owner")
RED = ("modes_that_overlap", "mode_elsewhere")
GOOD = ("modes_of_one_thread",)


def modes(name: str, *guards: str) -> list[str]:
    return outcome(name, guards, module="mode_scenarios")


@pytest.mark.parametrize("name", RED)
def test_it_is_red_without_a_guard(name: str) -> None:
    assert modes(name) != []


@pytest.mark.parametrize("guard", BOTH)
@pytest.mark.parametrize("name", [*RED, *GOOD])
def test_it_is_green_with_one(name: str, guard: str) -> None:
    assert modes(name, guard) == []


@pytest.mark.parametrize("name", [*GOOD, "modes_outlive_the_guard"])
def test_it_is_good_by_itself(name: str) -> None:
    assert modes(name) == []
