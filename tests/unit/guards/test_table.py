"""The README tells what the guards claim, no more and no less."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks.guard_table import table

README = Path(__file__).parents[3] / "README.md"


def test_the_readme_has_the_table_of_claims() -> None:
    assert table() in README.read_text(), "python -m tests.benchmarks.guard_table prints it"
