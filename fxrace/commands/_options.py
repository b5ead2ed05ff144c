"""Options that several verbs share, so that they read the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

DATABASE = "fxrace.sqlite"


def output(command: F) -> F:
    """``-o DIR``: where the database, the trials' records and the reports are."""
    return click.option(
        "-o", "--output", "--out", "output",
        type=click.Path(file_okay=False, path_type=Path), default=Path("fxrace-out"),
        show_default=True, metavar="DIR", help="Folder of the database, records and reports.",
    )(command)  # fmt: skip


def as_json(command: F) -> F:
    """``--json``: one JSON document on stdout and nothing else."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document on stdout, nothing else."
    )(command)


def suppressions(command: F) -> F:
    """``--suppressions FILE``: findings that are lived with, and why."""
    return click.option(
        "--suppressions", "rules", type=click.Path(dir_okay=False, path_type=Path), default=None,
        metavar="FILE",
        help="Findings to live with, and why.  [default: .fxrace-suppressions.toml, if there]",
    )(command)  # fmt: skip


def python(command: F) -> F:
    """``--python PATH``: the interpreter that runs the trials."""
    return click.option(
        "--python", default=None, metavar="PATH",
        help="Interpreter that runs the trials; it needs torch, not fxrace. Default: this one.",
    )(command)  # fmt: skip


def jobs(command: F) -> F:
    """``--jobs N``: how many trials run side by side."""
    return click.option(
        "--jobs", type=click.IntRange(1), default=None, metavar="N",
        help="Trials side by side. Default: one per processor; on GPUs one at a time, or up to 8 "
        "of a preset that is too small to be timed (tiny).",
    )(command)  # fmt: skip


def seconds(name: str, told: str) -> Callable[[F], F]:
    """An option that takes a number of seconds above zero."""
    return click.option(
        name, type=click.FloatRange(0, min_open=True), default=None, metavar="SECONDS", help=told
    )
