"""What can be pasted upstream: per cause a script that was seen to reproduce it, and an issue.

A cause is seen in several pairs; the first whose schedule plain events can force is written as a
script and run twenty times under the interpreter that explored (one of them a new one, the rest
forks with torch imported), and three times under each of the others. The surprise: a script that
never reproduces is not offered, and the issue then says how to replay the schedule instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fxrace.errors import InterpreterUnusable, LaunchFailed, OutputUnwritable
from fxrace.launch import interpreter
from fxrace.launch.script_forks import ScriptForks
from fxrace.probe.explore.collisions import of_difference
from fxrace.probe.explore.emit import CannotEmit
from fxrace.probe.explore.verify import REPRODUCED, RUN_S, Offered, offered, reproduces, seen_on
from fxrace.records.document import FindingRow
from fxrace.records.environment import Environment
from fxrace.records.exploration import ExploreDocument
from fxrace.render.exploration import markdown

#: How many ways to show one cause are tried before it goes without a script.
TRIED = 4
Ways = Mapping[str, Sequence[Mapping[str, Any]]]
Quickly = Callable[[str], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Making:
    """How scripts are made: where they go, what runs them, how many at a time."""

    folder: Path
    python: str
    others: Sequence[str] = ()
    jobs: int = 1


def with_scripts(document: ExploreDocument, ways: Ways, making: Making) -> ExploreDocument:
    """The document whose findings name their scripts. Writes ``<fingerprint>.py`` and ``.md``
    for each into the folder. Raises OutputUnwritable.
    """
    try:
        making.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputUnwritable(f"{making.folder} cannot be written ({error.strerror})") from error

    with ExitStack() as stack:
        quickly = _quickly(making.python, stack) if document.findings else None

        def one(row: FindingRow) -> FindingRow:
            known = ways.get(row.fingerprint, ())
            return _bundle(row, document.environment, known, making, quickly)

        with ThreadPoolExecutor(making.jobs) as pool:
            return replace(document, findings=tuple(pool.map(one, document.findings)))


def _quickly(python: str, stack: ExitStack) -> Quickly | None:
    """Whether a script reproduces in a fork; None where this interpreter cannot be forked."""
    with suppress(InterpreterUnusable):
        forks = stack.enter_context(ScriptForks(interpreter.resolve(python)))
        return (lambda text: _forked(text, forks, python)) if forks.usable else None
    return None


def _forked(text: str, forks: ScriptForks, python: str) -> bool:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "repro.py"
        file.write_text(text, encoding="utf-8")
        with suppress(LaunchFailed):  # the process to fork is gone
            end = forks.run(file, timeout_s=RUN_S, give_up=lambda: False)
            return end.status == REPRODUCED
    return reproduces(text, python)


def _bundle(
    row: FindingRow, environment: Environment, ways: Sequence[Mapping[str, Any]], making: Making,
    quickly: Quickly | None,
) -> FindingRow:  # fmt: skip
    script = next(_scripts(ways, making, quickly), None)
    path = making.folder / f"{row.fingerprint}.py"
    if script is not None:
        path.write_text(script.text, encoding="utf-8")
        row = replace(row, repro=str(path))
    issue = markdown.render(row, environment, script.text if script else None)
    path.with_suffix(".md").write_text(issue, encoding="utf-8")
    return row


def _scripts(
    ways: Sequence[Mapping[str, Any]], making: Making, quickly: Quickly | None
) -> Iterator[Offered]:
    """Scripts that reproduce every time first; one that does so sometimes is better than none."""
    weaker: list[Offered] = []
    for way in sorted(ways, key=lambda way: not way["raised"])[:TRIED]:
        try:
            found = offered(of_difference(way), python=making.python, quickly=quickly)
        except (CannotEmit, LookupError):
            continue
        if found is not None:
            found = replace(found, text=seen_on(found.text, making.others))
            if found.k == found.n:
                yield found
            weaker.append(found)
    yield from sorted(weaker, key=lambda one: -one.k)
