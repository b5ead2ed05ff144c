"""Print the JSON Schema of a document that fxrace writes."""

from __future__ import annotations

from pathlib import Path

import click

import fxrace
from fxrace.commands import _help
from fxrace.errors import ExitCode, UnknownPart

FOLDER = Path(fxrace.__file__).parent / "schemas"


@click.command(cls=_help.Command)
@click.argument("name", required=False)
def command(name: str | None) -> ExitCode:
    """Print the JSON Schema (2020-12) of the document NAME; without NAME, list the names."""
    known = tuple(path.stem for path in sorted(FOLDER.glob("*.json")))
    if name is None:
        click.echo("\n".join(known))
    elif name in known:
        click.echo((FOLDER / f"{name}.json").read_text(encoding="utf-8"), nl=False)
    else:
        raise UnknownPart("schema", name, known)
    return ExitCode.PASS
