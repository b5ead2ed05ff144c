"""Judges the runs of a repro against its header. Pure: exit statuses in, a judgement out.

A script tells its verdict twice, in its exit status and in the last line it prints; where the two
disagree it is broken, as is one that ends in an exception of its own. The surprise: a hazard that
does not show outside ``[since, fixed_in)`` is as expected, and inside it is not.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from fxrace.records.hazard import NOT_APPLICABLE, REPRODUCED, Hazard
from fxrace.records.repro import Judgement, ScriptEnd, ScriptRun, TwinRow
from fxrace.records.verdict import Verdict

_GRAVEST: tuple[Verdict, ...] = (
    Verdict.BROKEN, Verdict.CRASHED, Verdict.HUNG, Verdict.WRONG, Verdict.RAISED,
    Verdict.SKIPPED, Verdict.CLEAN,
)  # fmt: skip
_NUMBER = re.compile(r"\d+")


def run_of(end: ScriptEnd, *, timeout_s: float) -> ScriptRun:
    """The verdict of one run, by status and printed word."""
    verdict, reason = _verdict(end, timeout_s)
    return ScriptRun(verdict=verdict, reason=reason, duration_s=end.duration_s)


def _verdict(end: ScriptEnd, timeout_s: float) -> tuple[Verdict, str]:
    word, _, reason = end.line.partition(" ")
    if end.status is None:
        return Verdict.BROKEN, f"stopped: no end within {timeout_s:g} s"
    if end.status < 0:
        return Verdict.CRASHED, f"killed by {_signal(-end.status)}"
    said = Verdict(word) if word in Verdict._value2member_map_ else None
    if end.status == REPRODUCED and said is not None and said.failed:
        return said, reason
    if end.status == 0 and said is Verdict.CLEAN:
        return said, reason
    if end.status == NOT_APPLICABLE and said is Verdict.SKIPPED:
        return said, reason
    told = end.error or end.line or "nothing printed"
    return Verdict.BROKEN, f"exit status {end.status}: {told}"


def row_of(runs: Sequence[ScriptRun], *, wanted: Verdict) -> TwinRow:
    """All runs of one twin. The verdict is the wanted one where it was seen, else the gravest."""
    if not runs:
        return TwinRow(verdict=None, k=0, n=0)
    seen = {run.verdict for run in runs}
    broken = Verdict.BROKEN in seen
    verdict = wanted if wanted in seen and wanted.failed and not broken else _gravest(seen)
    same = [run for run in runs if run.verdict is verdict]
    return TwinRow(
        verdict=verdict,
        k=len(same),
        n=len(runs),
        reason=same[0].reason,
        duration_s=max(run.duration_s for run in runs),
    )


def judge(hazard: Hazard, torch: str, racy: TwinRow, guarded: TwinRow) -> tuple[Judgement, str]:
    """The judgement on one torch, and why."""
    for name, row in (("racy", racy), ("guarded", guarded)):
        if row.verdict is Verdict.BROKEN:
            return Judgement.BROKEN, f"{name} twin: {row.reason}"
    for row in (racy, guarded):
        if row.verdict is Verdict.SKIPPED:
            return Judgement.NOT_APPLICABLE, row.reason
    if guarded.verdict is not None and guarded.verdict.failed:
        told = f"{guarded.verdict.value}, {guarded.reason}"
        return Judgement.BROKEN, f"the remedy did not help: guarded twin {told}"
    if racy.verdict is None:
        return Judgement.NOT_APPLICABLE, "the racy twin was not run"
    if racy.verdict is hazard.racy:
        return Judgement.REPRODUCED, racy.reason + _misplaced(hazard, torch)
    if racy.verdict.failed:
        told = f"ends {racy.verdict.value} where the header says {hazard.racy.value}"
        return Judgement.BROKEN, f"racy twin {told}: {racy.reason}"
    if outside := _outside(hazard, torch):
        return Judgement.NOT_APPLICABLE, outside
    return Judgement.NOT_REPRODUCED, f"did not show in {racy.n}: {racy.reason}"


def release(version: str) -> tuple[int, ...]:
    """``2.13.0+cpu`` as (2, 13, 0): the numbers that order releases."""
    public = version.partition("+")[0]
    numbers = tuple(int(text) for text in _NUMBER.findall(public)[:3])
    return numbers + (0,) * (3 - len(numbers))


def _outside(hazard: Hazard, torch: str) -> str:
    """Why this torch is not in ``[since, fixed_in)``, or an empty string."""
    if hazard.fixed_in is not None and release(torch) >= release(hazard.fixed_in):
        return f"fixed here: torch {hazard.fixed_in} is the first without it"
    if release(torch) < release(hazard.since):
        return f"not here yet: torch {hazard.since} is the first known to have it"
    return ""


def _misplaced(hazard: Hazard, torch: str) -> str:
    return f"; the header says {outside}" if (outside := _outside(hazard, torch)) else ""


def _gravest(seen: set[Verdict]) -> Verdict:
    return min(seen, key=_GRAVEST.index)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
