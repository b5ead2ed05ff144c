"""Find the torch versions between which a hazard came and went, with the fewest runs."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fxrace.catalog.hazards import script_of
from fxrace.commands import _catalogue, _help, _options
from fxrace.core import bisect
from fxrace.core.bisect import Probe
from fxrace.core.repro_judge import release, run_of
from fxrace.errors import ExitCode, UsageError
from fxrace.launch import bundled
from fxrace.launch.script import run_script
from fxrace.launch.stopping import Level, Stopping
from fxrace.records import wire
from fxrace.records.hazard import Hazard
from fxrace.records.repro import BisectDocument, Boundary, Sight, Torch, VersionRow
from fxrace.records.verdict import Verdict
from fxrace.render.view import words

Seen = dict[int, tuple[Probe, str]]


@click.command(cls=_help.Command)
@click.argument("slug")
@click.option(
    "--python", "pythons", multiple=True, required=True, metavar="PATH",
    help="An interpreter with another torch; give two or more.",
)  # fmt: skip
@click.option(
    "--confidence", type=click.FloatRange(0.5, 1, max_open=True), default=0.95, show_default=True,
    help="How sure to be that the hazard is absent next to a boundary.",
)  # fmt: skip
@_options.as_json
def command(*, slug: str, pythons: tuple[str, ...], confidence: float, as_json: bool) -> ExitCode:
    """Find where hazard SLUG came and where it was fixed, over the torches of these interpreters.

    Exits 0 when a boundary was found, or the hazard shows everywhere; 3 when it was not seen.
    """
    (hazard, *more) = _catalogue.chosen(_catalogue.catalogue(), (slug,))
    if more:
        raise UsageError(f"{slug!r} names {1 + len(more)} hazards", remedy="bisect one at a time")
    torches = sorted(_catalogue.torches(pythons), key=lambda torch: release(torch.version))
    if len(torches) < 2:
        raise UsageError("one torch has no boundary", remedy="give --python twice or more")
    seen: Seen = {}
    with Stopping() as stopping:
        while (step := bisect.next_step(len(torches), _probes(seen), confidence)) is not None:
            if stopping.level is not Level.RUN:
                break
            place, times = step
            seen[place] = _looked(hazard, torches[place], times, seen.get(place), stopping)
            click.echo(_told(torches[place], *seen[place]), err=True)
        interrupted = stopping.level is not Level.RUN
    document = _document(hazard, torches, seen, interrupted=interrupted)
    click.echo(wire.pretty(document) if as_json else "\n".join(_lines(document)))
    if interrupted:
        return ExitCode.INTERRUPTED
    shows = any(row.sight is Sight.SHOWS for row in document.versions)
    return ExitCode.PASS if shows else ExitCode.INCONCLUSIVE


def _looked(
    hazard: Hazard, torch: Torch, times: int, before: tuple[Probe, str] | None, stopping: Stopping
) -> tuple[Probe, str]:
    """Run the racy twin up to ``times`` more, until it shows or cannot be judged."""
    runs, reason = (before[0].n, before[1]) if before else (0, "")
    for _ in range(times):
        end = run_script(
            torch.python,
            script_of(bundled.root(), hazard.slug),
            timeout_s=hazard.timeout_s,
            give_up=lambda: stopping.level is Level.KILL,
        )
        run = run_of(end, timeout_s=hazard.timeout_s)
        reason = run.reason
        if run.verdict is hazard.racy:
            return Probe(sight=Sight.SHOWS, k=1, n=runs + 1), reason
        if run.verdict is not Verdict.CLEAN:
            return Probe(sight=Sight.SKIPPED, k=0, n=0), f"{run.verdict.value} {reason}"
        runs += 1
    return Probe(sight=Sight.ABSENT, k=0, n=runs), reason


def _document(
    hazard: Hazard, torches: Sequence[Torch], seen: Seen, *, interrupted: bool
) -> BisectDocument:
    probes = _probes(seen)
    since, fixed_in = bisect.boundaries([torch.version for torch in torches], probes)
    rows = tuple(_row(torch, seen.get(at), probes) for at, torch in enumerate(torches))
    return BisectDocument(
        schema="fxrace.bisect",
        schema_version=1,
        slug=hazard.slug,
        versions=rows,
        since=since,
        fixed_in=fixed_in,
        declared=(hazard.since, hazard.fixed_in),
        agrees=_agrees(hazard, rows),
        runs=sum(max(1, probe.n) for probe in probes.values()),
        interrupted=interrupted,
    )


def _row(torch: Torch, found: tuple[Probe, str] | None, probes: dict[int, Probe]) -> VersionRow:
    untested = (Probe(sight=Sight.UNTESTED, k=0, n=0), "")
    probe, reason = found or untested
    return VersionRow(
        torch=torch.version,
        python=str(torch.python),
        sight=probe.sight,
        k=probe.k,
        n=probe.n,
        confidence=round(bisect.confidence_of(probe, bisect.rate_of(probes)), 4),
        reason=reason,
    )


def _agrees(hazard: Hazard, rows: Sequence[VersionRow]) -> bool | None:
    """True when every torch that was judged is as the header has it; None when none was."""
    judged = [row for row in rows if row.sight in (Sight.SHOWS, Sight.ABSENT)]
    ends = release(hazard.since), hazard.fixed_in and release(hazard.fixed_in)
    expected = [
        ends[0] <= release(row.torch) and (not ends[1] or release(row.torch) < ends[1])
        for row in judged
    ]
    shown = [row.sight is Sight.SHOWS for row in judged]
    return expected == shown if judged else None


def _lines(document: BisectDocument) -> list[str]:
    lines = [f"{document.slug}, {words.count(document.runs, 'run')}:"]
    for row in document.versions:
        told = f"{row.k} of {row.n} runs" if row.n else words.one_line(row.reason, 120)
        sure = f", {words.percent(row.confidence)} % sure" if row.sight is Sight.ABSENT else ""
        lines.append(f"  {row.torch:<16} {row.sight.value:<9} {told}{sure}".rstrip())
    lines.append(_end("came in", document.since, "the oldest torch given has it, or none has"))
    lines.append(_end("fixed in", document.fixed_in, "the newest torch given has it, or none has"))
    since, fixed_in = document.declared
    agrees = {True: "agrees", False: "DISAGREES", None: "cannot be compared"}[document.agrees]
    lines.append(f"the header, {since} to {fixed_in or 'now'}, {agrees}")
    return lines


def _end(what: str, found: Boundary | None, else_told: str) -> str:
    if found is None:
        return f"{what}: not between these; {else_told}"
    between = f", {', '.join(found.between)} not judged" if found.between else ""
    sure = words.percent(found.confidence)
    return f"{what} {found.at}: after {found.before}{between}; {sure} % sure"


def _told(torch: Torch, probe: Probe, reason: str) -> str:
    return (
        f"fxrace: torch {torch.version}: {probe.sight.value}, {probe.k} of {probe.n}: "
        f"{words.one_line(reason, 160)}"
    )


def _probes(seen: Seen) -> dict[int, Probe]:
    return {place: probe for place, (probe, _) in seen.items()}
