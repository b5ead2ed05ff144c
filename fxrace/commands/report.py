"""Show a stored run again, in any format, without running anything and without torch."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from fxrace.commands import _options, _reports
from fxrace.errors import ExitCode
from fxrace.pipeline import document_of
from fxrace.render import formats, renderer
from fxrace.store import open_store

HTML = "html"


@click.command(cls=click.RichCommand)
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
        document = document_of(store, found, output=output)
    if name == HTML and not as_json:
        click.echo(_reports.write_report(document, output).report)
    else:
        click.echo(renderer("json" if as_json else name)(document), nl=False)
    return ExitCode.PASS
