"""The half of ``replay`` that plays schedules of an exploration."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fxrace.commands import _options, _place
from fxrace.errors import ExitCode
from fxrace.exploration import remembered, replay
from fxrace.launch import bundled
from fxrace.launch.stopping import Level, Stopping
from fxrace.pipeline import Corridor
from fxrace.records import wire
from fxrace.records.exploration import TokenDocument
from fxrace.render import live
from fxrace.render.view import words
from fxrace.store import open_store


def replayed(options: Mapping[str, Any]) -> ExitCode:
    """Play the schedule, print what came of it. 0 when it showed its cause every time, else 3."""
    output: Path = options["output"]
    with (
        open_store(output / _options.DATABASE, readonly=True) as store,
        Stopping() as stopping,
        live.display() as progress,
    ):
        known = remembered(store, options["what"])
        with _place.opened(
            python=options["python"] or sys.executable,
            directory=output,
            jobs=1,
            roots=(bundled.root(), Path.cwd()),
            device=_place.CPU,
        ) as place:
            if place.environment.digest != known.environment:
                progress.note("this is not the environment (or the code) the token is from")
            document = replay(
                known,
                times=options["repeats"],
                corridor=Corridor(
                    executor=place.executor,
                    environment=place.environment,
                    progress=progress,
                    stopping=stopping,
                ),
            )
    click.echo(wire.pretty(document) if options["as_json"] else told(document))
    if stopping.level is not Level.RUN:
        return ExitCode.INTERRUPTED
    same = document.reproduced
    return ExitCode.PASS if same.n and same.k == same.n else ExitCode.INCONCLUSIVE


def told(document: TokenDocument) -> str:
    """The tally, what else was seen, and the first drift, as text."""
    if document.problem:
        return f"{document.token} was not played: {words.one_line(document.problem, 300)}"
    same = document.reproduced
    lines = [
        f"{document.a} and {document.b}: {document.fingerprint} showed in {words.rate(same)} "
        f"schedules, {document.exact} of them step for step, "
        f"on torch {document.environment.torch}"
    ]
    for fingerprint, number in document.fingerprints.items():
        if fingerprint != document.fingerprint:
            lines.append(f"  {fingerprint or 'nothing'} showed in {number}")
    if document.drift:
        lines.append(f"  drift: {words.one_line(document.drift, 200)}")
    return "\n".join(lines)
