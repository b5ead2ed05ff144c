"""What comes out of the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fxrace.records.environment import Environment
from fxrace.records.finding import Finding
from fxrace.records.outcome import Ending, Outcome
from fxrace.records.trial import Setting, Trial


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredTrial:
    """One execution of a trial. ``number`` is its row, ``payload`` whatever the pipeline keeps
    beside the outcome (losses by drafter and step), ``directory`` its record if still kept.
    ``reused`` is True when the run that was asked about took it from an earlier one.
    """

    number: int
    trial: Trial
    environment: str
    outcome: Outcome
    ending: Ending
    findings: tuple[Finding, ...]
    payload: Mapping[str, Any]
    directory: Path | None
    stored: str
    reused: bool = False

    @property
    def digest(self) -> str:
        return self.trial.digest


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One command that ran or reused trials. Times are UTC, ISO 8601; ``ended`` is None while
    it runs and for ever when it was killed.
    """

    number: int
    environment: Environment
    command: tuple[str, ...]
    settings: Mapping[str, Setting]
    axes: Mapping[str, tuple[str, ...]]
    started: str
    ended: str | None
