"""Run the catalogue of known hazards, racy and guarded, on one or several torches.

The surprise: what runs scripts is imported only when some are to run, which halves the time that
``--list`` takes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fxrace.catalog.hazards import script_of
from fxrace.commands import _catalogue, _help, _options
from fxrace.errors import ExitCode, UsageError
from fxrace.launch import bundled
from fxrace.records.hazard import Hazard
from fxrace.render.view import hazards as catalogue_view

if TYPE_CHECKING:
    from fxrace.records.repro import ReproDocument

BOTH = "both"
TWINS = ("racy", "guarded")


@click.command(cls=_help.Command)
@click.argument("slugs", nargs=-1)
@click.option("--list", "listing", is_flag=True, help="List the hazards and run nothing.")
@click.option("--print", "printing", is_flag=True, help="Print the script of one SLUG.")
@click.option(
    "--twin", "twins", type=click.Choice([*TWINS, BOTH]), default=BOTH,
    show_default=True, help="The program with the hazard, the one with the remedy, or both.",
)  # fmt: skip
@click.option(
    "--repeat", type=click.IntRange(1), default=1, show_default=True, help="Runs of each twin."
)
@click.option(
    "--python", "pythons", multiple=True, metavar="PATH",
    help="Interpreter to run under; several make a matrix. It needs torch only. Default: this one.",
)  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(1), default=None, metavar="N",
    help="Scripts side by side. Default: one per processor.",
)  # fmt: skip
@click.option(
    "--fresh",
    is_flag=True,
    help="A new interpreter for every run, also where forks of one with torch would do.",
)
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), default=None,
    metavar="DIR", help="Also write repro.json and repro.md there.",
)  # fmt: skip
@_options.as_json
def command(
    *, slugs: tuple[str, ...], listing: bool, printing: bool, twins: str, repeat: int,
    pythons: tuple[str, ...], jobs: int | None, fresh: bool, output: Path | None, as_json: bool,
) -> ExitCode:  # fmt: skip
    """Run the hazards SLUGS (patterns such as 'fx-*' are taken; none means all) and judge each
    against what its script declares.

    Exits 0 when all are as declared, 1 when one that this torch should have does not show, 3 when
    a script is broken or none could say anything.
    """
    known = _catalogue.catalogue()
    hazards = _catalogue.chosen(known, slugs)
    if printing:
        return _print(hazards, plain=not (as_json or listing))
    if listing and not as_json and output is None:
        click.echo(catalogue_view.listing(hazards, known.problems))
        return ExitCode.PASS
    from fxrace import reproduction
    from fxrace.records import wire
    from fxrace.records.repro import Twin
    from fxrace.render.view import repro as view

    if listing:
        document = reproduction.document_of(known, hazards)
    else:
        plan = reproduction.Plan(
            hazards=hazards,
            torches=_catalogue.torches(pythons),
            twins=[twin for twin in Twin if twins in (twin.value, BOTH)],
            repeat=repeat,
            jobs=jobs or os.cpu_count() or 1,
            fresh=fresh,
        )
        told = lambda *row: click.echo(view.progress(*row), err=True)  # noqa: E731
        document = reproduction.run(known, plan, told=told)
    if output is not None:
        _write(output, document)
    click.echo(wire.pretty(document) if as_json else view.text(document))
    return ExitCode.PASS if listing else reproduction.exit_code(document)


def _print(hazards: Sequence[Hazard], *, plain: bool) -> ExitCode:
    if len(hazards) != 1 or not plain:
        raise UsageError("--print shows one script as it is", remedy="fxrace repro SLUG --print")
    script = script_of(bundled.root(), hazards[0].slug)
    click.echo(script.read_text(encoding="utf-8"), nl=False)
    return ExitCode.PASS


def _write(output: Path, document: ReproDocument) -> None:
    from fxrace.launch import folder as folders
    from fxrace.records import wire
    from fxrace.render.view import repro as view

    with folders.writable(output):
        output.mkdir(parents=True, exist_ok=True)
        (output / "repro.json").write_text(wire.pretty(document) + "\n")
        (output / "repro.md").write_text(view.markdown(document))
