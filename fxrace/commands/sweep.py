"""Run the DFlash training loop over locking x checkpoint x warm-up and judge every combination.

Everything that may be chosen on an axis is listed at the end of ``--help``, read from the folders
at the moment help is shown. The surprise: only stdout is the result; the live table is on stderr.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from fxrace.commands import (
    _documents,
    _ending,
    _help,
    _options,
    _place,
    _plan,
    _reports,
    _workload,
)
from fxrace.errors import ExitCode
from fxrace.launch import bundled, slots
from fxrace.launch.stopping import Stopping
from fxrace.pipeline import Corridor, run_sweep
from fxrace.records.document import SweepDocument
from fxrace.records.sweep import Sweep
from fxrace.render import json, live, text
from fxrace.store import open_store
from fxrace.store.kept import read_suppressions

AXES_HEAD = "Axes and their values (* = in a sweep that names none):"


class SweepCommand(_help.Command):
    """Adds the axes, as they are in the folders now, below the options."""

    def get_help(self, ctx: click.Context) -> str:
        told = _plan.axes_help(_plan.known_axes(), width=shutil.get_terminal_size().columns)
        return f"{super().get_help(ctx).rstrip()}\n\n{AXES_HEAD}\n\n{told}"


@click.command(cls=SweepCommand)
@click.option(
    "--gpus",
    type=int,
    default=None,
    metavar="N",
    help="Logical device slots, one thread each; they share what devices there are.  [default: 8]",
)
@click.option(
    "--split",
    default=None,
    metavar="T:D",
    help="Slots for targets and drafters.  [default: 5:3 of 8]",
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="auto takes CUDA when the interpreter's torch sees a GPU.",
)
@click.option(
    "--preset",
    default="tiny",
    show_default=True,
    metavar="NAME",
    help="Workload: a file of harness/recipes.",
)
@click.option(
    "--axis",
    "picks",
    multiple=True,
    metavar="NAME=V1,V2|all",
    help="Values of one axis; repeat for more axes. Listed below.",
)
@click.option(
    "--repeat",
    "repeats",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Trials per cell.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of data and weights.")
@click.option(
    "--steps",
    type=click.IntRange(1),
    default=None,
    help="Optimizer steps per drafter.  [default: the preset's]",
)
@click.option(
    "--freeze/--no-freeze",
    default=False,
    show_default=True,
    help="Fail a drafter that compiles anything after its warm-up.",
)
@_workload.options
@_options.jobs
@_options.python
@click.option(
    "--parts",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder with your own parts, laid out AXIS/NAME.py; repeatable.",
)
@_options.output
@_options.as_json
@click.option(
    "--fail-on",
    default="none",
    show_default=True,
    metavar="none|findings|VERDICT,...",
    help="Exit 1 when there are findings, or trials with one of these verdicts.",
)
@_options.suppressions
@_options.seconds("--trial-timeout", "End a trial after this long.  [default: 600]")
@_options.seconds(
    "--silence", "Call a trial hung after this long without a sign of life.  [default: 20]"
)
@click.option("--report/--no-report", "report", default=True, help="Write the HTML report.")
@click.option("--dry-run", is_flag=True, help="Print what would run, and run nothing.")
def command(**options: Any) -> ExitCode:
    """Run a DFlash drafter-training loop over locking x checkpoint x warm-up x attention x
    pressure, each trial in a process of its own, and say for every combination whether it
    survived and how fast it was.

    A killed or interrupted sweep goes on where it stopped when the same command is run again.
    Ctrl-C once finishes the running trials and writes the report; twice kills them.
    """  # fmt: skip
    wanted = _ending.fail_on(options["fail_on"])
    axes = _plan.known_axes(options["parts"])
    values = _plan.chosen(axes, options["picks"])
    options["preset"] = _plan.preset_named(options["preset"])
    options["workload"] = _workload.settings(options)
    split = slots.split_of(options["gpus"], options["split"])
    if options["dry_run"]:
        click.echo(_plan.described(_sweep(options, values, split, options["device"]), axes))
        return ExitCode.PASS
    suppressed = read_suppressions(options["rules"])
    document, done = _documents.marked(_run(options, values, split), suppressed)
    if options["report"]:
        document = _reports.write_report(document, options["output"])
    _print(document, as_json=options["as_json"])
    _documents.tell(done)
    return _ending.exit_code(document, wanted)


def _run(
    options: Mapping[str, Any], values: Mapping[str, tuple[str, ...]], split: tuple[int, int]
) -> SweepDocument:
    output: Path = options["output"]
    with (
        open_store(output / _options.DATABASE) as store,
        Stopping() as stopping,
        live.display() as progress,
    ):
        progress.note("starting the interpreter and importing torch")
        with _place.opened(
            python=options["python"] or sys.executable,
            directory=output,
            jobs=options["jobs"],
            jobs_on_gpus=_plan.jobs_on_gpus(options["preset"]),
            roots=(bundled.root(),),
            device=options["device"],
        ) as place:
            dealt = slots.slots(options["gpus"], options["split"], place.physical)
            progress.note(_told(dealt, place.physical))
            return run_sweep(
                _sweep(options, values, split, place.device),
                command=sys.argv,
                output=output,
                store=store,
                corridor=Corridor(
                    executor=place.executor,
                    environment=place.environment,
                    progress=progress,
                    stopping=stopping,
                ),
            )


def _sweep(
    options: Mapping[str, Any],
    values: Mapping[str, tuple[str, ...]],
    split: tuple[int, int],
    device: str,
) -> Sweep:
    parts: Sequence[Path] = options["parts"]
    return Sweep(
        target=_plan.TARGET,
        axes=values,
        settings={
            **_plan.settings(
                preset=options["preset"],
                device=device,
                split=split,
                steps=options["steps"],
                freeze=options["freeze"],
                parts=parts,
            ),
            **options["workload"],
        },
        seed=options["seed"],
        repeats=options["repeats"],
        limits=_plan.limits(options["trial_timeout"], options["silence"]),
    )


def _told(dealt: slots.Slots, physical: Sequence[str]) -> str:
    """Where the slots lie, said once."""
    told = f"{len(dealt.targets)} target and {len(dealt.drafters)} drafter slots"
    if dealt.oversubscribed:
        return f"{told} share {', '.join(physical)}: speeds are marked oversubscribed"
    return f"{told} on {', '.join(physical)}"


def _print(document: SweepDocument, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.render(document), nl=False)
        return
    watched = sys.stdout.isatty()
    width = max(80, shutil.get_terminal_size().columns) if watched else 100
    click.echo(text.render(document, width=width, colour=watched), nl=False)
    if document.report is not None:
        click.echo(document.report)
