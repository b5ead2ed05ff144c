"""The life of each cause over the runs of a store: first and last seen, and how often in each run.

Nothing needs to be kept by hand for it: every run is in the store already.
"""

from __future__ import annotations

from pathlib import Path

import click

from fxrace.commands import _documents, _help, _options
from fxrace.core.history import Past, lives
from fxrace.errors import ExitCode, NothingToShow
from fxrace.records import wire
from fxrace.records.triage import HistoryDocument
from fxrace.render.view import compared
from fxrace.store import open_store

SCHEMA, SCHEMA_VERSION = "fxrace.history", 1


@click.command(cls=_help.Command)
@click.argument("fingerprint", required=False, default="")
@_options.output
@_options.as_json
def command(*, fingerprint: str, output: Path, as_json: bool) -> ExitCode:
    """Show the causes that the runs of a store have seen, or those whose FINGERPRINT begins so."""
    path = output / _options.DATABASE
    with open_store(path, readonly=True) as store:
        past = [
            Past(
                number=run.number,
                started=run.started,
                document=_documents.of_run(store, run, output),
            )
            for run in store.runs()
        ]
    found = lives(past, wanted=fingerprint.strip().lower())
    if fingerprint and not found:
        raise NothingToShow(
            f"no run in {path} has seen {fingerprint!r}", remedy="fxrace history lists what was"
        )
    document = HistoryDocument(
        schema=SCHEMA, schema_version=SCHEMA_VERSION, store=str(path), runs=len(past), lives=found
    )
    click.echo(wire.pretty(document) if as_json else compared.history(document).rstrip("\n"))
    return ExitCode.PASS
