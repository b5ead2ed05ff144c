"""Settle the claims of the field report (C1 to C9) by experiments on this PyTorch.

Each claim has experiments that could come out either way, with controls that show it. The surprise:
DEPENDS is a verdict, not a failure of the tool: several claims are true of one torch, one grad mode
or one way of calling attention, and not of the other.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from fxrace.commands import _help, _measuring, _options
from fxrace.core import claims as rules
from fxrace.errors import ExitCode, FxraceError, UnknownPart
from fxrace.launch.folder import writable
from fxrace.launch.stopping import Level, Stopping
from fxrace.probe.claims import Claim, known
from fxrace.records import wire
from fxrace.records.claims import Answer, ClaimsDocument
from fxrace.render.claims import markdown, text

SCHEMA, SCHEMA_VERSION = "fxrace.claims", 1
FOLDER = "claims"


@click.command(cls=_help.Command)
@click.argument("ids", nargs=-1, metavar="[C1 ...]")
@click.option(
    "--python", "pythons", multiple=True, metavar="PATH",
    help="Interpreter to ask; repeat to compare versions of torch. Default: this one.",
)  # fmt: skip
@click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True,
    help="auto takes CUDA when the interpreter's torch sees a GPU.",
)  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(1), default=None, metavar="N",
    help="Measurements side by side; none is timed.  [default: one per processor, at most 4]",
)  # fmt: skip
@_options.output
@_options.as_json
@click.option("--markdown", "as_markdown", is_flag=True, help="Print a section for a README.")
@click.option("--list", "listed", is_flag=True, help="Print the claims and their experiments.")
def command(**options: Any) -> ExitCode:
    """Settle the claims C1 to C9, or those named, by experiments on this torch.

    TRUE, FALSE, DEPENDS (the reason says on what) or INCONCLUSIVE. An answer counts only if both
    controls of its experiment came out as they must. claims.json and claims.md are in the
    output folder afterwards. Exits 3 when a claim stays open.
    """
    claims = _chosen(options["ids"])
    if options["listed"]:
        click.echo("\n".join(text.listed(claims)))
        return ExitCode.PASS
    document = _document(claims, options)
    _write(document, options["output"])
    if options["as_json"]:
        click.echo(wire.pretty(document))
    elif options["as_markdown"]:
        click.echo(markdown.render(document), nl=False)
    else:
        click.echo(text.render(document, colour=sys.stdout.isatty()), nl=False)
    return _exit_code(document)


def _chosen(ids: Sequence[str]) -> tuple[Claim, ...]:
    """The claims of these ids in the order of the folder; all where none is named."""
    claims = known()
    wanted = {id.upper() for id in ids} or set(claims)
    for id in ids:
        if id.upper() not in claims:
            raise UnknownPart("claim", id, tuple(claims))
    return tuple(claim for id, claim in claims.items() if id in wanted)


def _document(claims: Sequence[Claim], options: Mapping[str, Any]) -> ClaimsDocument:
    """Ask one interpreter after the other. One that cannot be asked costs only itself."""
    asked: list[_measuring.Asked] = []
    problems: list[tuple[str, str]] = []
    pythons = options["pythons"] or (sys.executable,)
    with Stopping() as stopping:
        for number, python in enumerate(pythons):
            if stopping.level is not Level.RUN:
                break
            try:
                asked.append(
                    _measuring.asked(
                        claims,
                        python=python,
                        device=options["device"],
                        directory=options["output"] / FOLDER / str(number),
                        jobs=options["jobs"],
                        stopping=stopping,
                        told=lambda line: click.echo(line, err=True),
                    )
                )
            except FxraceError as error:
                if len(pythons) == 1:
                    raise
                problems.append((python, str(error)))
                click.echo(f"{python}: {error}", err=True)
        interrupted = stopping.level is not Level.RUN
    rows = tuple(row for id in (c.id for c in claims) for a in asked for row in a.rows
                 if row.id == id)  # fmt: skip
    return ClaimsDocument(
        schema=SCHEMA,
        schema_version=SCHEMA_VERSION,
        environments=tuple(one.environment for one in asked),
        claims=rows,
        summary=rules.summary(rows),
        problems=tuple(problems),
        interrupted=interrupted,
    )


def _write(document: ClaimsDocument, output: Path) -> None:
    with writable(output):
        output.mkdir(parents=True, exist_ok=True)
        (output / "claims.json").write_text(wire.pretty(document) + "\n")
        (output / "claims.md").write_text(markdown.render(document))


def _exit_code(document: ClaimsDocument) -> ExitCode:
    if document.interrupted:
        return ExitCode.INTERRUPTED
    open_ones = any(row.verdict is Answer.INCONCLUSIVE for row in document.claims)
    return ExitCode.INCONCLUSIVE if open_ones or document.problems else ExitCode.PASS
