"""Compare two runs: causes new, gone and changed, cells that came out otherwise.

The surprise: a difference that chance may explain is none. A rate has changed when two 95 %
intervals share no value, so a handful of repeats can show a new cause but hardly a rarer one.
"""

from __future__ import annotations

from pathlib import Path

import click

from fxrace.commands import _documents, _help, _options
from fxrace.core.diff import diff
from fxrace.errors import ExitCode, UsageError
from fxrace.records import wire
from fxrace.records.triage import Change, DiffDocument
from fxrace.render.view import compared
from fxrace.store.kept import read_suppressions

NONE = "none"
FAILING = {"new": Change.NEW, "changed": Change.MORE}


@click.command(cls=_help.Command)
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option(
    "--fail-on",
    default=NONE,
    show_default=True,
    metavar="none|new,changed",
    help="Exit 1 for new proven findings, or for causes and cells that fail more often.",
)
@_options.suppressions
@_options.output
@_options.as_json
def command(
    *, before: str, after: str, fail_on: str, rules: Path | None, output: Path, as_json: bool
) -> ExitCode:
    """Compare A with B: numbers of runs, output folders, or files that --json printed."""
    wanted = _wanted(fail_on)
    old = _documents.with_findings(before, output)
    suppressed = read_suppressions(rules)
    new, done = _documents.marked(_documents.with_findings(after, output), suppressed)
    document = diff(old, new, names=(_named(before), _named(after)))
    click.echo(wire.pretty(document) if as_json else compared.diff(document).rstrip("\n"))
    if suppressed:
        _documents.tell(done)
    return ExitCode.FINDINGS if wanted & _met(document) else ExitCode.PASS


def _named(what: str) -> str:
    return f"run {what}" if what.isdecimal() else what


def _wanted(text: str) -> frozenset[str]:
    words = {word.strip().lower() for word in text.split(",") if word.strip()}
    if words <= {NONE}:
        return frozenset()
    if not words <= FAILING.keys():
        raise UsageError(
            f"--fail-on {text!r} is not understood", remedy=f"give {NONE}, {', '.join(FAILING)}"
        )
    return frozenset(words)


def _met(document: DiffDocument) -> frozenset[str]:
    """Which of the conditions hold; only proven and unsuppressed causes count."""
    changes = {
        row.change for row in document.findings if row.tier.proven and row.suppressed is None
    } | {cell.failures for cell in document.cells}
    return frozenset(name for name, change in FAILING.items() if change in changes)
