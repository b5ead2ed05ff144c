"""Say what this torch, Python and machine can show, and what is out of sight."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

import fxrace
from fxrace.commands import _help, _options
from fxrace.core.states import STATES
from fxrace.errors import ExitCode
from fxrace.launch import bundled
from fxrace.launch.examination import examination
from fxrace.launch.sources import sources
from fxrace.records import wire
from fxrace.records.doctor import Ability, DiscoveredRow, DoctorDocument, StateRow
from fxrace.records.environment import Environment
from fxrace.records.state import Keeping
from fxrace.render.view import words


@click.command(cls=_help.Command)
@click.option(
    "--discover",
    is_flag=True,
    help="Also trace, compile and export in a process of its own, and name whatever of torch "
    "changed meanwhile and is in no row of the registry (a minute).",
)
@_options.python
@_options.as_json
def command(*, discover: bool, python: str | None, as_json: bool) -> ExitCode:
    """Say what fxrace can see with this torch, Python and machine.

    Exits 0 when every State and every hook family is in sight, 3 when one is not.
    """
    document = _document(examination(python or sys.executable, discover=discover))
    click.echo(wire.pretty(document) if as_json else "\n".join(told(document)))
    return ExitCode.INCONCLUSIVE if document.blind else ExitCode.PASS


def told(document: DoctorDocument) -> Iterator[str]:
    """A block to copy into a bug report."""
    here = document.environment
    yield f"fxrace {here.fxrace}, torch {here.torch}, {here.implementation} {here.python}"
    yield f"{here.platform}, {words.count(here.cpu_count, 'processor')}, {_gil(here)}"
    yield f"{words.safe(here.executable, 300)}"
    yield ""
    for name, ability in document.abilities.items():
        reason = words.one_line(ability.reason, 200)
        yield f"  {'ok   ' if ability.ok else 'no   '} {name:<26} {reason}".rstrip()
    resolved = sum(row.resolved for row in document.states)
    yield ""
    yield f"States: {resolved} of {len(document.states)} resolved"
    for row in document.states:
        if not row.resolved:
            mark = "blind" if row.expected else "n/a  "
            yield f"  {mark} {row.name:<26} {words.one_line(row.reason, 200)}"
    yield from _discoveries(document.discovered)


def _gil(here: Environment) -> str:
    return "with the interpreter lock" if here.gil else "without the interpreter lock"


def _discoveries(rows: tuple[DiscoveredRow, ...] | None) -> Iterator[str]:
    if rows is None:
        return
    unknown = [row for row in rows if row.registered is None]
    yield ""
    yield (
        f"Discovery: {words.count(len(rows), 'attribute')} changed, "
        f"{len(unknown)} of them in no row of the registry"
    )
    for row in sorted(unknown, key=lambda row: row.keeping is Keeping.LASTING):
        attribute = words.one_line(row.attribute, 120)
        yield f"  {row.keeping.value:<9} {attribute}  ({', '.join(row.operations)})"


def _document(answer: Mapping[str, Any]) -> DoctorDocument:
    plain = {key: value for key, value in answer["environment"].items() if key != "problem"}
    told_of = {row["name"]: row for row in answer["states"]}
    names = {state.attribute: state.name for state in STATES}
    return DoctorDocument(
        schema="fxrace.doctor",
        schema_version=1,
        environment=Environment(
            **{**plain, "gpus": tuple(plain["gpus"])},
            fxrace=fxrace.__version__,
            sources=sources((bundled.root(),)),
        ),
        states=tuple(
            StateRow(
                attribute=state.attribute,
                scope=state.scope,
                keeping=state.keeping,
                borrowed_by=state.borrowed_by,
                lock=state.lock,
                why=state.why,
                references=state.references,
                **told_of[state.name],
            )
            for state in STATES
        ),
        abilities={name: Ability(**one) for name, one in sorted(answer["abilities"].items())},
        discovered=_discovered(answer.get("discovered"), names),
    )


def _discovered(
    rows: list[dict[str, Any]] | None, names: Mapping[str, str]
) -> tuple[DiscoveredRow, ...] | None:
    if rows is None:
        return None
    return tuple(
        DiscoveredRow(
            attribute=row["attribute"],
            keeping=Keeping(row["keeping"]),
            operations=tuple(row["operations"]),
            registered=names.get(row["attribute"]),
        )
        for row in rows
    )
