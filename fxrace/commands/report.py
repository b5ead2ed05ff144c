"""Show a stored run again, in any format, without running anything and without torch."""

from __future__ import annotations

from pathlib import Path

import click

from fxrace import exploration
from fxrace.commands import _documents, _help, _options, _recorded, _reports
from fxrace.errors import ExitCode, NothingToShow, UsageError
from fxrace.records.document import SweepDocument
from fxrace.records.exploration import ExploreDocument
from fxrace.render import exploration_renderer, formats, renderer, trace_formats, trace_renderer
from fxrace.store import Run, Store, open_store
from fxrace.store.kept import read_suppressions

HTML = "html"


@click.command(cls=_help.Command)
@click.argument("number", type=int, metavar="[RUN]", required=False)
@click.option(
    "--run",
    "run",
    type=int,
    default=None,
    metavar="NUMBER",
    help="Which run, as the argument.  [default: the latest]",
)
@click.option("--latest", is_flag=True, help="The latest run, which is what you get without.")
@click.option(
    "--format",
    "name",
    type=click.Choice(formats()),
    default=HTML,
    show_default=True,
    help="html is written as a file and its path printed; the others go to stdout.",
)
@_options.suppressions
@_options.as_json
@_options.output
def command(
    *, number: int | None, run: int | None, latest: bool, name: str, rules: Path | None,
    as_json: bool, output: Path,
) -> ExitCode:  # fmt: skip
    """Render a stored run."""
    asked = _asked(number, run, latest=latest)
    suppressed = read_suppressions(rules)
    name = "json" if as_json else name
    with open_store(output / _options.DATABASE, readonly=True) as store:
        found = store.latest_run() if asked is None else store.run(asked)
        document, done = _documents.marked(_documents.of_run(store, found, output), suppressed)
        shown = _traced(store, found, document, name) if name in trace_formats() else None
    if shown is None:
        shown = _shown(document, name, output)
    click.echo(shown.rstrip("\n"))
    _documents.tell(done)
    return ExitCode.PASS


def _asked(number: int | None, run: int | None, *, latest: bool) -> int | None:
    """Which run, None for the latest. Raises UsageError for two answers that contradict."""
    named = {one for one in (number, run) if one is not None}
    if len(named) + latest > 1:
        raise UsageError("more than one run is named", remedy="give one number, or --latest")
    return next(iter(named), None)


def _shown(document: SweepDocument | ExploreDocument, name: str, output: Path) -> str:
    """The text for stdout; for HTML the path of the file."""
    if isinstance(document, ExploreDocument):
        if name == HTML:
            return str(_reports.write_exploration(document, output).report)
        return exploration_renderer(name)(document)
    if name == HTML:
        return str(_reports.write_report(document, output).report)
    return renderer(name)(document)


def _traced(store: Store, run: Run, document: SweepDocument | ExploreDocument, name: str) -> str:
    if exploration.explores(run) or isinstance(document, ExploreDocument):
        raise NothingToShow(
            f"run {run.number} has no recorded traces: it is an exploration, whose schedules are "
            "tokens instead",
            remedy="fxrace replay TOKEN plays one, --format md shows them",
        )
    return trace_renderer(name)(document, _recorded.recorded(store, run, document))
