"""How a sweep ends: its exit code, and which findings or verdicts make it fail."""

from __future__ import annotations

from collections.abc import Iterable

from fxrace.core.expand import REFERENCE_KNOBS
from fxrace.core.suppressions import lived_with
from fxrace.errors import ExitCode, UsageError
from fxrace.records.document import SweepDocument, TrialRow
from fxrace.records.verdict import Verdict

NONE, FINDINGS = "none", "findings"


def fail_on(text: str) -> frozenset[str]:
    """``none``, ``findings``, or verdicts by name. Raises UsageError."""
    words = {word.strip() for word in text.split(",") if word.strip()}
    if words <= {NONE}:
        return frozenset()
    known = {FINDINGS, *(verdict.value for verdict in Verdict)}
    wanted = {word.lower() if word.lower() == FINDINGS else word.upper() for word in words}
    if not wanted <= known:
        raise UsageError(
            f"--fail-on {text!r} is not understood",
            remedy=f"give {NONE}, {FINDINGS}, or some of {', '.join(v.value for v in Verdict)}",
        )
    return frozenset(wanted)


def exit_code(document: SweepDocument, wanted: frozenset[str]) -> ExitCode:
    """INTERRUPTED, else FINDINGS if asked for, else INCONCLUSIVE if nothing says anything.

    What is suppressed is not asked for: neither the finding nor a trial that only it explains.
    """
    trials = [t for t in document.trials if not _reference(t)]
    if document.interrupted:
        return ExitCode.INTERRUPTED
    known = {row.fingerprint: row for row in document.findings}
    proven = any(row.tier.proven and row.suppressed is None for row in document.findings)
    counted = (trial for trial in trials if not lived_with(trial.findings, known))
    if (FINDINGS in wanted and proven) or wanted & _verdicts(counted):
        return ExitCode.FINDINGS
    if not any(trial.verdict.conclusive for trial in trials):
        return ExitCode.INCONCLUSIVE
    return ExitCode.PASS


def _verdicts(trials: Iterable[TrialRow]) -> set[str]:
    return {trial.verdict.value for trial in trials}


def _reference(trial: TrialRow) -> bool:
    return trial.knobs.get("execution") == REFERENCE_KNOBS["execution"]
