"""Say what a running or hung Python process waits for, and in which circle.

Works on any process this user may trace, whoever started it. The process is paused twice for
some tens of milliseconds and is otherwise left alone.
"""

from __future__ import annotations

from pathlib import Path

import click

from fxrace.commands import _help, _options
from fxrace.errors import ExitCode
from fxrace.launch.dump import document_of
from fxrace.records import wire
from fxrace.records.document import DumpDocument
from fxrace.records.stuck import Classification, Edge, ThreadRow
from fxrace.render.view import stacks, words

FRAMES = 6


@click.command(cls=_help.Command)
@click.argument("pid", type=click.IntRange(1))
@click.option(
    "--record",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    metavar="FILE",
    help="The process's events.jsonl.  [default: the one it holds open, if any]",
)
@_options.as_json
def command(*, pid: int, record: Path | None, as_json: bool) -> ExitCode:
    """Say what process PID waits for: deadlock (with its circle), starvation, external_wait,
    running, or unknown.

    Exits 0 when the process could be classified, 3 when not.
    """  # fmt: skip
    document = document_of(pid, record=record)
    click.echo(wire.pretty(document) if as_json else told(document))
    unknown = document.classification is Classification.UNKNOWN
    return ExitCode.INCONCLUSIVE if unknown else ExitCode.PASS


def told(document: DumpDocument) -> str:
    """The word, the circle with its stacks, then one line per thread."""
    word = document.classification.value
    lines = [f"{word}: {words.one_line(document.reason, 600)}"]
    for edge in document.circle:
        lines += ["", f"{_safe(edge.waiter)} {_waits(edge)}", *_stack(edge)]
    lines += ["", "threads:"]
    lines += [f"  {_thread(row)}" for row in document.threads]
    lines += [f"blind: {_safe(what)}: {_safe(reason)}" for what, reason in document.blind]
    return "\n".join(lines)


def _waits(edge: Edge) -> str:
    return f"waits for {_safe(edge.waits_for)} of {_safe(edge.held_by or 'an unknown thread')}"


def _stack(edge: Edge) -> list[str]:
    """The program's own frames and where the thread stands, innermost last."""
    fold = stacks.folded(edge.stack)
    last = (fold.innermost,) if fold.innermost is not None else ()
    shown = dict.fromkeys((*fold.own[-FRAMES:], *last))
    return [f"    {_safe(stacks.shown_path(f.file))}:{f.line} {_safe(f.function)}" for f in shown]


def _thread(row: ThreadRow) -> str:
    here = row.stack[-1] if row.stack else None
    parts = [
        _safe(row.thread),
        row.motion.value,
        f"waits for {_safe(row.waits_for)}" if row.waits_for else "",
        f"held by {_safe(row.held_by)}" if row.held_by else "",
        f"holds {_safe(', '.join(row.holds))}" if row.holds else "",
        "holds the GIL" if row.holds_gil else "",
        f"in {_safe(row.leaf)}" if row.leaf else "",
        f"at {_safe(stacks.shown_path(here.file))}:{here.line}" if here else "",
    ]
    return ", ".join(part for part in parts if part)


def _safe(text: str) -> str:
    return words.one_line(text, 200)
