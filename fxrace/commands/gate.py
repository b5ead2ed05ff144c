"""Fail on findings that a baseline does not know, and say which of those it knows are gone.

The surprise: what only suggests a race (T3, T4) is told and stops nothing unless ``--strict``
says so, as everywhere in fxrace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import click

from fxrace.commands import _documents, _help, _options
from fxrace.core.baseline import EMPTY, Look, compare, shown_in, updated
from fxrace.core.looks import look_at
from fxrace.core.subjects import cells, subject
from fxrace.errors import ExitCode
from fxrace.records import wire
from fxrace.records.baseline import Entry
from fxrace.records.document import RunDocument, SweepDocument
from fxrace.records.exploration import ExploreDocument
from fxrace.records.repro import Judgement, ReproDocument
from fxrace.records.testing import Became, PytestDocument
from fxrace.records.triage import GateDocument, Subject
from fxrace.render.view import compared
from fxrace.store.kept import read_baseline, read_suppressions, write_baseline

SCHEMA, SCHEMA_VERSION = "fxrace.gate", 1
Document = SweepDocument | ExploreDocument | RunDocument | ReproDocument | PytestDocument
_SAYS = frozenset({Judgement.REPRODUCED, Judgement.NOT_REPRODUCED})


@click.command(cls=_help.Command)
@click.argument("what", metavar="[RUN|FOLDER|FILE]", required=False)
@click.option(
    "--baseline",
    "path",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The causes that are known; keep it beside the code.",
)
@click.option("--update", is_flag=True, help="Write what was seen into the baseline, and pass.")
@click.option("--strict", is_flag=True, help="Fail on T3 and T4 too, not only on T0 to T2.")
@_options.suppressions
@_options.output
@_options.as_json
def command(
    *, what: str | None, path: Path, update: bool, strict: bool, rules: Path | None,
    output: Path, as_json: bool,
) -> ExitCode:  # fmt: skip
    """Hold a run (by default the latest) or a document that --json printed against a baseline.

    Exits 1 when there are new findings that nothing suppresses, 3 when the run says nothing.
    """
    baseline = EMPTY if update and not path.exists() else read_baseline(path)
    suppressed = read_suppressions(rules)
    found = _documents.named(what, output)
    look = look_at(found)
    done = _documents.held(suppressed, (e for e in look.entries if shown_in(e)))
    told = compare(baseline, look)
    new = tuple(entry for entry in told.new if entry.fingerprint not in done.by)
    document = GateDocument(
        schema=SCHEMA,
        schema_version=SCHEMA_VERSION,
        baseline=str(path),
        subject=_subject(found, what),
        blocking=() if update else tuple(e.fingerprint for e in new if _blocks(e, strict=strict)),
        new=new,
        known=tuple(entry for entry in told.known if entry.fingerprint not in done.by),
        fixed=told.fixed,
        broken=told.broken,
        suppressed=done.by,
        unused=done.unused,
        expired=done.expired,
        replay=_replays(found),
        updated=update,
    )
    if update:
        kept = tuple(entry for entry in look.entries if entry.fingerprint not in done.by)
        write_baseline(path, updated(baseline, replace(look, entries=kept)))
    click.echo(wire.pretty(document) if as_json else compared.gate(document).rstrip("\n"))
    _documents.tell(done)
    return _exit_code(document, look)


def _exit_code(document: GateDocument, look: Look) -> ExitCode:
    if document.blocking:
        return ExitCode.FINDINGS
    silent = not document.subject.trials and not look.entries
    if (silent or document.broken) and not document.updated:
        return ExitCode.INCONCLUSIVE
    return ExitCode.PASS


def _blocks(entry: Entry, *, strict: bool) -> bool:
    return strict or entry.tier is None or entry.tier.proven


def _subject(found: Document, what: str | None) -> Subject:
    name = f"run {what}" if what is not None and what.isdecimal() else what
    if isinstance(found, PytestDocument):
        said = [test for test in found.tests if test.became is not Became.NOTHING]
        return Subject(
            name=name or "tests", verb="pytest", run="", torch=found.torch, python="", machine="",
            trials=len(said),
        )  # fmt: skip
    if not isinstance(found, ReproDocument):
        usual = "program" if isinstance(found, RunDocument) else f"run {found.run}"
        return subject(found, cells(found), name=name or usual)
    rows = [row for row in found.results if row.judgement in _SAYS]
    torches = ", ".join(dict.fromkeys(row.torch for row in found.results))
    return Subject(
        name=name or "repro", verb="repro", run="", torch=torches or "none", python="", machine="",
        trials=len(rows),
    )  # fmt: skip


def _replays(found: Document) -> Mapping[str, str]:
    if isinstance(found, ReproDocument):
        return {f"repro:{row.slug}": f"fxrace repro {row.slug}" for row in found.results}
    scripts = found.results if isinstance(found, PytestDocument) else ()
    again = {f"repro:{row.slug}": f"fxrace repro {row.slug}" for row in scripts}
    return again | {row.fingerprint: row.replay for row in found.findings}
