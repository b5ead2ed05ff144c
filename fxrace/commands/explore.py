"""Drive pairs of torch operations through every interleaving up to a bound, and name what differs.

One operation is stopped at every point while the other runs to its end; both results and the
process afterwards are compared with running alone. The surprise: "no difference" is said only
for the points and the bound that were tried, and the matrix has a sign of its own for pairs
where that was not all of them.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from fxrace.bundle import Making, with_scripts
from fxrace.catalog.operations import operations
from fxrace.commands import _help, _options, _pairs, _place, _reports
from fxrace.core.pairs import INTERFERENCE
from fxrace.errors import ExitCode
from fxrace.exploration import Plan, Watching, run, ways
from fxrace.launch.bundled import root
from fxrace.launch.stopping import Stopping
from fxrace.pipeline import Corridor
from fxrace.records import wire
from fxrace.records.exploration import ExploreDocument, OperationFile, PairRow, PairVerdict
from fxrace.records.trial import Setting
from fxrace.render.exploration import text
from fxrace.render.plain import Plain
from fxrace.render.view.matrix import told, who
from fxrace.store import open_store


@click.command(cls=_help.Command)
@click.argument("names", nargs=-1, metavar="[OPERATION|MODULE:FUNCTION]...")
@click.option("--matrix", is_flag=True, help="Every ordered pair of the operations named, or all.")
@click.option("--quick", is_flag=True, help="The matrix over a small default subset.")
@click.option(
    "--failed-in",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    metavar="FILE",
    help="The pairs that differ in this document of explore --json: with a guard, say, or on "
    "another torch.",
)
@click.option("--list", "listed", is_flag=True, help="List the operations, and run nothing.")
@click.option(
    "--strategy",
    default=None,
    metavar="NAME",
    help="interference (one stop), portfolio, or one of the scheduler's: serial, exhaustive, "
    "random, pct, sticky.  [default: interference; with --bound: exhaustive]",
)
@click.option(
    "--bound",
    type=click.IntRange(0),
    default=None,
    help="Every schedule of the two with at most this many preemptions.",
)
@click.option(
    "--grain",
    type=click.Choice(["region", "state", "call"]),
    default=None,
    help="How finely threads can be stopped under a scheduler.  [default: region]",
)
@click.option(
    "--max-schedules",
    type=click.IntRange(1),
    default=None,
    help="Stop a pair's scheduler after this many.  [default: 1000]",
)
@_options.seconds("--max-time", "Stop a pair's scheduler after this long.  [default: 60]")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of what is random.")
@click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    help="Factor on how many points of an expensive pair are tried.",
)
@click.option(
    "--guard",
    "guarded",
    multiple=True,
    metavar="NAME",
    help="Explore with this guard installed: does it hold? Repeatable.",
)
@click.option(
    "--scripts/--no-scripts",
    default=None,
    help="Write a verified script and an issue text per cause.  [default: for a pair without "
    "--guard]",
)
@_options.jobs
@click.option(
    "--python",
    "pythons",
    multiple=True,
    metavar="PATH",
    help="Interpreter that explores; further ones run the scripts. Default: this one.",
)
@_options.output
@_options.as_json
@click.option(
    "--fail-on",
    type=click.Choice(["none", "findings", "uncatalogued"]),
    default="none",
    show_default=True,
    help="Exit 1 when there are findings, or such that no hazard is known for.",
)
@click.option("--report/--no-report", "report", default=True, help="Write the HTML report.")
def command(**options: Any) -> ExitCode:
    """Explore the pair of two operations both ways, or with --matrix all pairs.

    OPERATION is a name that --list shows; MODULE:FUNCTION is a callable of yours that takes no
    arguments, imported from the current folder. A killed exploration goes on where it stopped
    when the same command is run again. Ctrl-C once finishes what runs and writes the report.
    """
    known = operations()
    if options["listed"]:
        click.echo(_pairs.listing(known))
        return ExitCode.PASS
    settings = _pairs.settings_of(options)
    pairs = _pairs.wanted(known, options, ordered=settings["strategy"] == INTERFERENCE)
    document = _run(options, pairs, settings, known)
    if options["report"]:
        document = _reports.write_exploration(document, options["output"])
    _print(document, as_json=options["as_json"])
    return _exit_code(document, options["fail_on"])


def _run(
    options: Mapping[str, Any],
    pairs: tuple[tuple[str, str], ...],
    settings: Mapping[str, Setting],
    known: Sequence[OperationFile],
) -> ExploreDocument:
    output: Path = options["output"]
    python = next(iter(options["pythons"]), sys.executable)
    with (
        open_store(output / _options.DATABASE) as store,
        Stopping() as stopping,
        _Bar() as bar,
        _place.opened(
            python=python,
            directory=output,
            jobs=options["jobs"],
            roots=(root(), Path.cwd()),
            device=_place.CPU,
        ) as place,
    ):
        document = run(
            Plan(pairs=pairs, settings=settings, operations=known),
            command=sys.argv,
            output=output,
            store=store,
            corridor=Corridor(
                executor=place.executor,
                environment=place.environment,
                progress=Plain(sys.stderr),
                stopping=stopping,
            ),
            watching=Watching(planned=bar.planned, ended=bar.ended),
        )
        wanted = options["scripts"]
        unwanted = len(pairs) > 2 or "guard" in settings
        if (wanted is None and unwanted) or wanted is False or document.interrupted:
            return document
        bar.note("running scripts")
        return with_scripts(
            document,
            ways(store, store.run(int(document.run))),
            Making(
                folder=output / f"explore-{document.run}",
                python=python,
                others=options["pythons"][1:],
                jobs=options["jobs"] or _place.processors(),
            ),
        )


class _Bar:
    """How far it is, on stderr: a bar for a person, a line per pair for a log."""

    def __init__(self) -> None:
        console = Console(stderr=True, highlight=False)
        self._drawn = console.is_terminal and not console.is_dumb_terminal
        self._progress = Progress(
            TextColumn("{task.description}", table_column=None),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not self._drawn,
        )
        self._task = self._progress.add_task("starting", total=None)
        self._found, self._began = 0, time.monotonic()

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def planned(self, total: int, present: int) -> None:
        self._progress.update(self._task, total=total, completed=present, description="exploring")
        if not self._drawn:
            print(f"{total} pairs, {present} known from before", file=sys.stderr)

    def note(self, text: str) -> None:
        self._progress.update(self._task, description=text)
        if not self._drawn:
            print(text, file=sys.stderr)

    def ended(self, row: PairRow) -> None:
        self._found += row.verdict is PairVerdict.FINDING
        self._progress.update(
            self._task, advance=1, description=f"{self._found} pairs differ; last {row.a}"
        )
        if not self._drawn:
            at = time.monotonic() - self._began
            print(f"{at:7.1f} s  {who(row)}: {told(row)}", file=sys.stderr)


def _print(document: ExploreDocument, *, as_json: bool) -> None:
    if as_json:
        click.echo(wire.pretty(document))
        return
    watched = sys.stdout.isatty()
    width = max(80, shutil.get_terminal_size().columns) if watched else 100
    click.echo(text.render(document, width=width, colour=watched), nl=False)
    if document.report is not None:
        click.echo(document.report)


def _exit_code(document: ExploreDocument, wanted: str) -> ExitCode:
    if document.interrupted:
        return ExitCode.INTERRUPTED
    counted = {
        "none": (),
        "findings": document.findings,
        "uncatalogued": [f for f in document.findings if f.hazard is None],
    }[wanted]
    if counted:
        return ExitCode.FINDINGS
    says = {PairVerdict.SAFE, PairVerdict.FINDING, PairVerdict.BLOCKED}
    if not any(pair.verdict in says for pair in document.pairs):
        return ExitCode.INCONCLUSIVE
    return ExitCode.PASS
