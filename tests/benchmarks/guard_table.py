"""The README's table: which guard claims which hazard of the catalogue.

``python -m tests.benchmarks.guard_table`` prints it; a test holds the README to it. A claim is
what a guard's ``cures`` says, and ``tests/repros/test_under_guards.py`` runs each on this torch:
``by hand`` are guards that need a line in the program, so that other tests show them, and ``*``
are the claims whose script cannot show it.
"""

from __future__ import annotations

from fxrace.guards import available
from fxrace.guards._registry import load
from tests.repros.test_under_guards import UNFIT

#: Guards that do for the same hazards what the first of the column does.
COLUMNS = (
    "isolated", "one_owner", "readers_writer", "compile_once", "inherit_config",
    "private_rng", "no_circle", "freeze",
)  # fmt: skip


def table() -> str:
    """Markdown, one line per hazard that some guard claims, in the order of the first claim."""
    assert set(COLUMNS) == set(available()), "a guard without a column"
    claims = {guard: load(guard).cures for guard in COLUMNS}
    slugs = dict.fromkeys(slug for cures in claims.values() for slug in cures)
    head = [f"| hazard | {' | '.join(COLUMNS)} |", f"|--|{'--|' * len(COLUMNS)}"]
    return "\n".join([*head, *(_row(slug, claims) for slug in slugs)])


def _row(slug: str, claims: dict[str, tuple[str, ...]]) -> str:
    mark = "yes*" if slug in UNFIT else "yes"
    cells = (mark if slug in cures else "" for cures in claims.values())
    return f"| `{slug}` | {' | '.join(cells)} |"


if __name__ == "__main__":
    print(table())
