"""Run one stored trial or schedule again, and count how often it comes out the same.

A digest names a trial, a token (``fxr1:...``) one schedule of an exploration. A trial runs with
the same knobs, settings, seed and limits. The surprise: it runs under *this* interpreter unless
``--python`` names another, which is how a race is shown to be gone in another torch; a difference
to where it was measured first is said on stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fxrace.commands import _help, _options, _place, _token
from fxrace.errors import ExitCode
from fxrace.launch import bundled
from fxrace.launch.stopping import Stopping
from fxrace.pipeline import Corridor, replay
from fxrace.records import wire
from fxrace.records.document import ReplayDocument
from fxrace.render import live
from fxrace.render.view import words
from fxrace.store import open_store


@click.command(cls=_help.Command)
@click.argument("what", metavar="DIGEST|TOKEN")
@click.option(
    "--repeat",
    "repeats",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How often to run it.",
)
@_options.python
@_options.output
@_options.as_json
def command(**options: Any) -> ExitCode:
    """Run the trial DIGEST (its first 6 or more hex digits) or the schedule TOKEN again.

    Exits 0 when every run gave the stored verdict and, where there were findings, one of them;
    3 when not.
    """
    if ":" in options["what"]:
        return _token.replayed(options)
    document = _run(options)
    if options["as_json"]:
        click.echo(wire.pretty(document))
    else:
        click.echo(told(document))
    if document.interrupted:
        return ExitCode.INTERRUPTED
    same = document.reproduced
    return ExitCode.PASS if same.n and same.k == same.n else ExitCode.INCONCLUSIVE


def told(document: ReplayDocument) -> str:
    """The stored trial, each run, and the tally, as text."""
    first, same = document.trial, document.reproduced
    lines = [f"trial {first.digest}: {first.verdict.value} {words.one_line(first.symptom, 300)}"]
    for number, again in enumerate(document.runs, start=1):
        causes = ", ".join(words.one_line(f, 60) for f in again.findings)
        lines.append(
            f"  run {number}: {again.verdict.value} {words.one_line(again.symptom, 200)}"
            f"{f'  [{causes}]' if causes else ''}"
        )
    lines.append(
        f"came out the same in {words.rate(same)} runs on torch {document.environment.torch}"
    )
    return "\n".join(line.rstrip() for line in lines)


def _run(options: Mapping[str, Any]) -> ReplayDocument:
    output: Path = options["output"]
    with (
        open_store(output / _options.DATABASE, readonly=True) as store,
        Stopping() as stopping,
        live.display() as progress,
    ):
        stored = store.trial(options["what"])
        progress.note("starting the interpreter and importing torch")
        with _place.opened(
            python=options["python"] or sys.executable,
            directory=output,
            jobs=1,
            roots=(bundled.root(),),
            device=str(stored.trial.settings.get("device") or _place.AUTO),
        ) as place:
            if place.environment.digest != stored.environment:
                progress.note("this is not the environment (or the code) the trial was stored from")
            return replay(
                stored,
                repeats=options["repeats"],
                output=output,
                store=store,
                corridor=Corridor(
                    executor=place.executor,
                    environment=place.environment,
                    progress=progress,
                    stopping=stopping,
                ),
            )
