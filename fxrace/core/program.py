"""What may be said about a program that has no reference: somebody's own script, run once.

A trial of the harness is compared with its single-threaded self. A program is not, so that an
error of its own must not pass for a race: an error counts as T0 only when it came to light at a
State that another thread had borrowed at that moment. Anything less sure is a near miss, and an
error that no other thread was beside is the program's own business.
"""

from __future__ import annotations

import shlex
import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fxrace.core.causes import joined, merged
from fxrace.core.detect import claims_in
from fxrace.core.evidence import Evidence
from fxrace.core.interval import wilson
from fxrace.records.document import FindingRow, RunDocument
from fxrace.records.event import Trace
from fxrace.records.finding import Finding, Tier
from fxrace.records.outcome import Ending, Stop
from fxrace.records.trial import Trial

SURE = frozenset({Tier.FAILURE, Tier.SILENT_WRONG, Tier.LEAK})
FATAL = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL})
_ALIVE = Ending(stop=Stop.EXITED, code=0, duration_s=0.0, overhead_s=0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """One run of a program: how its first process ended, and what each process recorded."""

    ending: Ending
    traces: tuple[Trace, ...]

    @property
    def status(self) -> int:
        """What a shell shows: the exit status, or 128 + n for a signal."""
        code = self.ending.code or 0
        return 128 + code if self.ending.stop is Stop.SIGNALLED else code

    @property
    def cut_short(self) -> bool:
        """True after Ctrl-C and after the time limit: the user does not want it once more."""
        return self.ending.stop is Stop.TIMED_OUT or self.status == 128 + signal.SIGINT

    def findings(self) -> tuple[Finding, ...]:
        """Over all its processes; only the first one's ending is known."""
        first, *forked = self.traces
        found = [*conclude(first, self.ending), *(f for t in forked for f in conclude(t))]
        return sorted_by_tier(merged(found))


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Regions by kind, and how many were entered while another thread had one open."""

    regions: Mapping[str, int]
    overlaps: int


def conclude(trace: Trace, ending: Ending = _ALIVE) -> tuple[Finding, ...]:
    """The findings of one process of a program, worst first, one per cause."""
    trial = Trial(target="program", knobs={})
    evidence = Evidence(trial=trial, trace=trace, ending=ending, reference=None)
    claims = list(_sure(claims_in(evidence), ending))
    kept = {claim.fingerprint for claim in claims if claim.tier in SURE}
    return sorted_by_tier(joined(c for c in claims if c.tier in SURE or c.fingerprint not in kept))


def sorted_by_tier(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Worst tier first; the order within a tier is kept."""
    return tuple(sorted(findings, key=lambda finding: list(Tier).index(finding.tier)))


def count(traces: Iterable[Trace]) -> Counts:
    """Regions and overlaps over all processes of a program."""
    kinds: Counter[str] = Counter()
    overlaps = 0
    for trace in traces:
        inside: Counter[int] = Counter()
        for event in trace.of("region"):
            if event.data["edge"] == "enter":
                kinds[event.data["region"]] += 1
                overlaps += any(n for ident, n in inside.items() if ident != event.ident)
            inside[event.ident] += 1 if event.data["edge"] == "enter" else -1
    return Counts(regions=dict(sorted(kinds.items())), overlaps=overlaps)


def document_of(
    runs: Sequence[Ran], *, schema: tuple[str, int], command: tuple[str, ...], record: str,
    pressure: str,
) -> RunDocument:  # fmt: skip
    """What was seen over all runs of one program."""
    traces = [trace for ran in runs for trace in ran.traces]
    counted = count(traces)
    attached = next((e for t in traces for e in t.of("phase") if "torch" in e.data), None)
    return RunDocument(
        schema=schema[0],
        schema_version=schema[1],
        command=command,
        exit_status=next((ran.status for ran in runs if ran.status), 0),
        timed_out=any(ran.ending.stop is Stop.TIMED_OUT for ran in runs),
        runs=len(runs),
        torch=attached.data["torch"] if attached else None,
        findings=_rows(runs, _again(command, pressure, len(runs))),
        regions=counted.regions,
        overlaps=counted.overlaps,
        blind=tuple(
            dict.fromkeys((e.data["what"], e.data["reason"]) for t in traces for e in t.of("blind"))
        ),
        record=record,
    )


def _again(command: tuple[str, ...], pressure: str, runs: int) -> str:
    pressed = "" if pressure == "none" else f"--pressure {pressure} "
    return f"fxrace run {pressed}--repeat {max(runs, 10)} -- {shlex.join(command)}"


def _rows(runs: Sequence[Ran], replay: str) -> tuple[FindingRow, ...]:
    """One row per cause. ``trials`` are the numbers of the runs it was seen in."""
    found = [ran.findings() for ran in runs]
    seen = {
        finding.fingerprint: [
            str(number)
            for number, one in enumerate(found, 1)
            if any(other.fingerprint == finding.fingerprint for other in one)
        ]
        for one in found
        for finding in one
    }
    return tuple(
        row_of(finding, seen[finding.fingerprint], len(runs), replay)
        for finding in sorted_by_tier(merged(finding for one in found for finding in one))
    )


def row_of(finding: Finding, seen: Sequence[str], runs: int, replay: str) -> FindingRow:
    """A finding that was seen in the runs ``seen`` of ``runs``."""
    return FindingRow(
        fingerprint=finding.fingerprint,
        title=finding.title,
        pattern=finding.pattern,
        tier=finding.tier,
        state=finding.state,
        hazard=finding.hazard,
        sides=finding.sides,
        symptoms=finding.symptoms,
        value=finding.value,
        token="",
        replay=replay,
        repro=None,
        reliability=wilson(len(seen), runs),
        remedy="",
        references=finding.references,
        trials=tuple(seen),
    )


def _sure(claims: Iterable[Finding], ending: Ending) -> Iterator[Finding]:
    for claim in claims:
        if claim.pattern == "exception":
            yield from _without_reference(claim)
        elif _own_doing(claim):
            yield replace(claim, tier=Tier.NEAR_MISS)
        elif claim.pattern != "crash" or (ending.stop is Stop.SIGNALLED and ending.code in FATAL):
            yield claim


def _own_doing(claim: Finding) -> bool:
    """What a program may do by itself: use up a limit (it took threads only where two of them are
    named), or call what cannot be compiled in one thread and what can be in another.
    """
    alone = claim.pattern == "recompile_limit" and len(claim.sides) < 2
    return alone or claim.pattern == "silent_eager"


def _without_reference(claim: Finding) -> Iterator[Finding]:
    """The claim as it is, as a near miss, or not at all."""
    others = claim.sides[1:]
    if claim.state is not None and any(side.access.startswith("holds ") for side in others):
        yield claim
    elif others:
        yield replace(claim, tier=Tier.NEAR_MISS)
