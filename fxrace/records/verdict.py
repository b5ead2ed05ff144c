"""Verdict: what a trial, a twin of a repro or an explored stop came to, in one word."""

from __future__ import annotations

from enum import Enum


class Verdict(str, Enum):
    """One word per trial. The last three say nothing about the program under test."""

    CLEAN = "CLEAN"
    RAISED = "RAISED"
    WRONG = "WRONG"
    HUNG = "HUNG"
    CRASHED = "CRASHED"
    SKIPPED = "SKIPPED"
    BLIND = "BLIND"
    BROKEN = "BROKEN"

    @property
    def failed(self) -> bool:
        """True when the program under test misbehaved."""
        return self in _FAILED

    @property
    def conclusive(self) -> bool:
        """True when the trial says anything about the program under test."""
        return self is Verdict.CLEAN or self.failed


_FAILED = frozenset({Verdict.RAISED, Verdict.WRONG, Verdict.HUNG, Verdict.CRASHED})
