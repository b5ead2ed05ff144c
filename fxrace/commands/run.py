"""Run any Python program with the hooks on, and say what its threads did to each other.

The program keeps its streams, its exit status and its terminal; what fxrace has to say comes at
the end on stderr, each line marked. The surprise: a program that passes although a race was
seen ends with 66, because its status is all that a build server reads.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from fxrace import guards
from fxrace.commands import _help, _options
from fxrace.core.program import SURE
from fxrace.errors import ExitCode, UsageError
from fxrace.launch import folder as folders
from fxrace.launch import interpreter
from fxrace.launch.program import Program
from fxrace.pipeline import run_program
from fxrace.records import wire
from fxrace.records.document import RunDocument
from fxrace.render.view import run as view

#: Ends fxrace with the program's own status, which may be any number.
PREFIX = "fxrace: "


@click.command(
    cls=_help.Command,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@_options.python
@click.option(
    "--pressure", type=click.Choice(["none", "jitter", "hold"]), default="none", show_default=True,
    help="How hard threads are pushed towards a collision.",
)  # fmt: skip
@click.option(
    "--guard",
    "guarded",
    multiple=True,
    metavar="NAME",
    help="Install this guard in the program before anything is traced. Repeatable.",
)
@click.option(
    "--repeat", "repeats", type=click.IntRange(1), default=1, show_default=True,
    help="Run the program this often.",
)  # fmt: skip
@_options.seconds("--timeout", "End the program after this long (exit 124).  [default: none]")
@click.option("--strict", is_flag=True, help="Exit 66 for T3 and T4 too, not only for T0 to T2.")
@_options.output
@_options.as_json
@click.option("-m", "module", is_flag=True, help="The program is a module, as in python -m.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
def command(**options: Any) -> int:
    """Run PROGRAM (a script, or -m and a module, with its arguments) as python would.

    Write it after `--`. Its exit status is passed through; 66 means that it passed and that a
    race was found all the same. With --json the document goes to stdout after the program.
    """
    target = _target(options["program"], as_module=options["module"])
    output: Path = options["output"]
    with folders.writable(output):
        output.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=output))
    with _guarded(options["guarded"]):
        document = run_program(
            target,
            python=interpreter.resolve(options["python"] or sys.executable),
            folder=folder,
            pressure=options["pressure"],
            repeats=options["repeats"],
            limit_s=options["timeout"],
        )
    (folder / "run.json").write_bytes(wire.encode(document))
    if options["as_json"]:
        click.echo(wire.pretty(document))
    _tell(document)
    return exit_status(document, strict=options["strict"])


def exit_status(document: RunDocument, *, strict: bool) -> int:
    """The program's own status; where that is 0, 66 for findings that count, 124 out of time."""
    if document.timed_out:
        return ExitCode.TIME_BUDGET
    if document.exit_status:
        return document.exit_status
    if any(strict or finding.tier in SURE for finding in document.findings):
        return ExitCode.RACE_IN_PASSING_PROGRAM
    return ExitCode.PASS


def _target(words: tuple[str, ...], *, as_module: bool) -> Program:
    """What to run, refused where ``python`` would refuse it before its first line."""
    if words and words[0] == "-m":
        words, as_module = words[1:], True
    if not words:
        raise UsageError("nothing to run", remedy="fxrace run -- script.py arguments")
    name, *rest = words
    if not as_module and not Path(name).exists():
        raise UsageError(f"no file {name!r}", remedy="give a script, or -m and a module")
    kind = "module" if as_module else "script"
    return Program(kind=kind, name=name, words=tuple(rest))


@contextmanager
def _guarded(names: tuple[str, ...]) -> Iterator[None]:
    """The environment variable by which the program's process is told. Raises UnknownPart."""
    for name in names or guards.named_in_environment():
        guards.load(name)
    kept = os.environ.get(guards.VARIABLE)
    if names:
        os.environ[guards.VARIABLE] = ",".join(names)
    try:
        yield
    finally:
        if kept is not None:
            os.environ[guards.VARIABLE] = kept
        elif names:
            del os.environ[guards.VARIABLE]


def _tell(document: RunDocument) -> None:
    for line in view.render(document).splitlines():
        click.echo(f"{PREFIX}{line}".rstrip(), err=True)
