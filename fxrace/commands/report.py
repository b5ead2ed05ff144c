"""Show a stored run again, in any format, without running anything and without torch."""

from __future__ import annotations

from pathlib import Path

import click

from fxrace import exploration
from fxrace.catalog.operations import operations
from fxrace.commands import _help, _options, _reports
from fxrace.errors import ExitCode
from fxrace.pipeline import document_of
from fxrace.records import wire
from fxrace.records.exploration import ExploreDocument
from fxrace.render import formats, renderer
from fxrace.render.exploration import text
from fxrace.store import open_store

HTML = "html"


@click.command(cls=_help.Command)
@click.option(
    "--run",
    "run",
    type=int,
    default=None,
    metavar="NUMBER",
    help="Which run.  [default: the latest]",
)
@click.option(
    "--format",
    "name",
    type=click.Choice(formats()),
    default=HTML,
    show_default=True,
    help="html is written as a file and its path printed; the others go to stdout.",
)
@_options.as_json
@_options.output
def command(*, run: int | None, name: str, as_json: bool, output: Path) -> ExitCode:
    """Render a stored run."""  # fmt: skip
    with open_store(output / _options.DATABASE, readonly=True) as store:
        found = store.latest_run() if run is None else store.run(run)
        if exploration.explores(found):
            explored = exploration.document_of(store, found, operations(), output=output)
            return _show(explored, name, output=output, as_json=as_json)
        document = document_of(store, found, output=output)
    if name == HTML and not as_json:
        click.echo(_reports.write_report(document, output).report)
    else:
        click.echo(renderer("json" if as_json else name)(document), nl=False)
    return ExitCode.PASS


def _show(document: ExploreDocument, name: str, *, output: Path, as_json: bool) -> ExitCode:
    """An exploration in the formats it has: the page, JSON, and text for all others."""
    if as_json or name == "json":
        click.echo(wire.pretty(document))
    elif name == HTML:
        click.echo(_reports.write_exploration(document, output).report)
    else:
        click.echo(text.render(document), nl=False)
    return ExitCode.PASS
