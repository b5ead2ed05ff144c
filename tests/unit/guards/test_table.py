"""The README tells what the guards claim, no more and no less."""

from __future__ import annotations

from pathlib import Path

import pytest

from fxrace.core.states import STATES
from fxrace.guards import available
from fxrace.guards._registry import load
from tests.benchmarks.guard_table import table

README = Path(__file__).parents[3] / "README.md"


@pytest.mark.parametrize("guard", available())
def test_what_a_guard_keeps_per_thread_is_in_the_registry_of_states(guard: str) -> None:
    assert set(load(guard).keeps) <= {state.name for state in STATES}


def test_the_readme_has_the_table_of_claims() -> None:
    assert table() in README.read_text(), "python -m tests.benchmarks.guard_table prints it"
