"""Gathers what a report page shows beside its document: records, scripts, hazards.

Everything here is optional. A folder that is gone, a record cut off in mid-write or a script that
was moved leaves its place on the page empty, with the reason there; no report fails for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from fxrace.core.lanes import timeline
from fxrace.core.moments import collision, moments
from fxrace.core.rings import edges_of
from fxrace.launch.record_file import EVENTS, read_trace
from fxrace.pipeline import hazards
from fxrace.records.document import FindingRow, SweepDocument, TrialRow
from fxrace.records.event import Trace
from fxrace.records.exploration import ExploreDocument
from fxrace.records.page import Exhibits, Moment, Timeline

#: Of more failing trials than this the timelines stay on disk.
TIMELINES = 120
SCRIPT_BYTES = 40_000


def of_sweep(document: SweepDocument, output: Path) -> Exhibits:
    """The records of failing trials, as far as their folders under ``output`` are still there."""
    rows = {trial.digest: trial for trial in document.trials}
    traces = {digest: _trace(output, digest) for digest in _wanted(document)}
    shown: dict[str, tuple[Moment, ...]] = {}
    for finding in document.findings:
        recorded = (traces[d] for d in finding.trials if d in traces and traces[d].events)
        shown[finding.fingerprint] = moments(next(recorded, Trace()), finding)
    return Exhibits(
        scripts=_scripts(document.findings),
        moments=shown,
        timelines={
            digest: _timeline(trace, rows[digest], document.findings)
            for digest, trace in traces.items()
            if trace.events
        },
        waits={
            digest: edges_of(trace, rows[digest].stacks)
            for digest, trace in traces.items()
            if rows[digest].stacks
        },
        hazards=hazards(),
    )


def of_exploration(document: ExploreDocument) -> Exhibits:
    """Scripts and hazards; the explorer's meetings are forced, so the finding tells their order."""
    return Exhibits(
        scripts=_scripts(document.findings),
        moments={row.fingerprint: moments(Trace(), row) for row in document.findings},
        hazards=hazards(),
    )


def _wanted(document: SweepDocument) -> tuple[str, ...]:
    """One failing trial per cause, then hung ones, then all that failed, up to a number."""
    failing = {trial.digest: trial for trial in document.trials if trial.verdict.failed}
    firsts = (next((d for d in row.trials if d in failing), "") for row in document.findings)
    hung = (digest for digest, trial in failing.items() if trial.stacks)
    ranked = dict.fromkeys(chain(firsts, hung, failing))
    return tuple(digest for digest in ranked if digest)[:TIMELINES]


def _trace(output: Path, digest: str) -> Trace:
    return read_trace(output / "trials" / digest / EVENTS)


def _timeline(trace: Trace, trial: TrialRow, findings: Iterable[FindingRow]) -> Timeline:
    own = (row for row in findings if row.fingerprint in trial.findings)
    return timeline(trace, _collisions(trace, own))


def _collisions(trace: Trace, findings: Iterable[FindingRow]) -> Iterator[tuple[int, float, str]]:
    for row in findings:
        if found := collision(trace, row):
            yield found.late.ident, found.late.entered_s, row.title


def _scripts(findings: Iterable[FindingRow]) -> dict[str, str]:
    found = {}
    for row in findings:
        text = _read(Path(row.repro)) if row.repro else ""
        if text:
            found[row.fingerprint] = text
    return found


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="backslashreplace") as file:
            return file.read(SCRIPT_BYTES)
    except OSError:
        return ""
