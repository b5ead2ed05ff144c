"""The document of ``fxrace claims``: what was said of torch, and what an experiment says of it.

One row per claim and interpreter, and a summary per claim over all of them, since several
claims are true on some versions of torch only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from fxrace.records.environment import Environment

Value: TypeAlias = bool | int | float | str | None
Values: TypeAlias = Mapping[str, Value]


class Answer(str, Enum):
    """What is said of a claim; an experiment alone never says DEPENDS."""

    TRUE = "TRUE"
    FALSE = "FALSE"
    DEPENDS = "DEPENDS"
    INCONCLUSIVE = "INCONCLUSIVE"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ruling:
    """An answer and its reason, one sentence without a full stop."""

    answer: Answer
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlRow:
    """The same measurement where the answer is known: ``says`` is it, ``said`` what came out."""

    says: Answer
    said: Answer
    reason: str
    values: Values

    @property
    def fired(self) -> bool:
        """True when the experiment gave the answer that is known to be right here."""
        return self.said is self.says


@dataclass(frozen=True, kw_only=True, slots=True)
class ExperimentRow:
    """One experiment on one torch. ``when`` is the condition it speaks of, as a clause.

    ``applies`` False: this device cannot run it, so that it says nothing either way.
    """

    id: str
    when: str
    answer: Answer
    reason: str
    values: Values
    controls: tuple[ControlRow, ...]
    applies: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimRow:
    """One claim on one torch. ``depends_on`` says on what, where the verdict is DEPENDS."""

    id: str
    statement: str
    verdict: Answer
    reason: str
    depends_on: str | None
    experiments: tuple[ExperimentRow, ...]
    torch: str
    python: str
    device: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryRow:
    """One claim over every torch that was asked."""

    id: str
    statement: str
    verdict: Answer
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimsDocument:
    """What ``fxrace claims --json`` prints.

    ``problems`` are (interpreter, reason) for those that could not be asked at all.
    """

    schema: str
    schema_version: int
    environments: tuple[Environment, ...]
    claims: tuple[ClaimRow, ...]
    summary: tuple[SummaryRow, ...]
    problems: tuple[tuple[str, str], ...] = ()
    interrupted: bool = False
