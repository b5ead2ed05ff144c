"""What a user might name to ``fxrace explore``."""

from __future__ import annotations

from fxrace.probe.operations import Operation

NINE = 9


def twice() -> int:
    """Two and two."""
    return 4


def _run(subject: int) -> int:
    return subject * subject


whole = Operation(prepare=lambda: 3, run=_run)
