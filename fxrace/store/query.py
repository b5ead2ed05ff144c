"""The two queries and how their rows become records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fxrace.records import wire
from fxrace.records.environment import Environment
from fxrace.records.finding import Finding
from fxrace.records.outcome import Ending, Outcome
from fxrace.records.trial import Trial
from fxrace.store.rows import Run, StoredTrial

RUN = """
SELECT r.id, e.record, r.command, r.settings, r.axes, r.started, r.ended
FROM runs r JOIN environments e ON e.digest = r.environment
"""

TRIAL = """
SELECT t.id, t.environment, t.trial, t.outcome, t.ending, t.payload, t.directory, t.stored,
    (SELECT '[' || coalesce(group_concat(record, ','), '') || ']' FROM
        (SELECT record FROM findings f WHERE f.trial = t.id ORDER BY f.position))
FROM trials t
"""


def run_from(row: tuple[Any, ...]) -> Run:
    """One row of ``RUN``. Raises ``ValueError`` when a cell holds no such record."""
    number, environment, command, settings, axes, started, ended = row
    return Run(
        number=number,
        environment=wire.decode(Environment, environment),
        command=wire.decode(tuple[str, ...], command),
        settings=wire.decode(dict, settings),
        axes=wire.decode(dict[str, tuple[str, ...]], axes),
        started=started,
        ended=ended,
    )


def trial_from(row: tuple[Any, ...], *, reused: set[int]) -> StoredTrial:
    """One row of ``TRIAL``. Raises ``ValueError`` when a cell holds no such record."""
    number, environment, trial, outcome, ending, payload, directory, stored, findings = row
    return StoredTrial(
        number=number,
        trial=wire.decode(Trial, trial),
        environment=environment,
        outcome=wire.decode(Outcome, outcome),
        ending=wire.decode(Ending, ending),
        findings=wire.decode(tuple[Finding, ...], findings),
        payload=wire.decode(dict, payload),
        directory=None if directory is None else Path(directory),
        stored=stored,
        reused=number in reused,
    )
