"""What the reading verbs read: a run by its number, a folder's latest run, or a JSON document."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

from fxrace import exploration
from fxrace.catalog.operations import operations
from fxrace.commands import _options
from fxrace.core import suppressions
from fxrace.errors import UsageError
from fxrace.pipeline import document_of
from fxrace.records.document import RunDocument, SweepDocument
from fxrace.records.exploration import ExploreDocument
from fxrace.records.repro import ReproDocument
from fxrace.records.suppression import Suppressed, Suppression
from fxrace.records.testing import PytestDocument
from fxrace.render.view import words
from fxrace.store import Run, Store, open_store
from fxrace.store.kept import read_document

Stored = SweepDocument | ExploreDocument
Found = SweepDocument | ExploreDocument | RunDocument
Marked = TypeVar("Marked", bound=Found | PytestDocument)
PROGRAM = "run.json"


def of_run(store: Store, run: Run, output: Path) -> Stored:
    """The document of a stored run, whichever verb it was."""
    if exploration.explores(run):
        return exploration.document_of(store, run, operations(), output=output)
    return document_of(store, run, output=output)


def named(what: str | None, output: Path) -> Found | ReproDocument | PytestDocument:
    """``None``: the latest run of the output folder; a number: that run; a folder: its latest run,
    or its ``run.json``; a file: the document in it. Raises UsageError and what stores raise.
    """
    if what is None or what.isdecimal():
        return _stored(output, None if what is None else int(what))
    path = Path(what)
    if (path / PROGRAM).is_file():
        return read_document(path / PROGRAM)
    if path.is_dir():
        return _stored(path, None)
    if not path.exists():
        raise UsageError(
            f"{what!r} is neither the number of a run nor a file or folder",
            remedy=f"fxrace history -o {output} lists the runs",
        )
    return read_document(path)


def with_findings(what: str | None, output: Path) -> Found:
    """The same for verbs that compare findings. Raises UsageError for the catalogue's document."""
    found = named(what, output)
    if isinstance(found, ReproDocument | PytestDocument):
        raise UsageError(
            f"{what} is a document of the catalogue or of tests, which have no cells to compare",
            remedy="fxrace gate holds it against a baseline",
        )
    return found


def marked(document: Marked, rules: Sequence[Suppression]) -> tuple[Marked, Suppressed]:
    """The document with the reason on every suppressed finding, and what became of the rules."""
    done = held(rules, document.findings)
    rows = tuple(replace(row, suppressed=done.by.get(row.fingerprint)) for row in document.findings)
    return replace(document, findings=rows), done


def held(rules: Sequence[Suppression], findings: Iterable[suppressions.Found]) -> Suppressed:
    """What these rules do to the findings today; a day ends when it does in UTC."""
    return suppressions.apply(rules, findings, today=datetime.now(timezone.utc).date())


def tell(done: Suppressed) -> None:
    """Suppressions that did nothing, on stderr: they ought to be taken out of the file."""
    for how, rules in (("expired", done.expired), ("not used by this run", done.unused)):
        for rule in rules:
            print(f"fxrace: suppression {how}: {described(rule)}", file=sys.stderr)


def described(rule: Suppression) -> str:
    """``fingerprint d553fff8e308 until 2027-03-31 (line 4): reason``."""
    named = (("fingerprint", rule.fingerprint), ("hazard", rule.hazard), ("state", rule.state))
    what = ", ".join(f"{kind} {words.one_line(text, 60)}" for kind, text in named if text)
    until = f" until {rule.until}" if rule.until else ""
    return f"{what}{until} (line {rule.line}): {words.one_line(rule.reason, 200)}"


def _stored(output: Path, number: int | None) -> Stored:
    with open_store(output / _options.DATABASE, readonly=True) as store:
        run = store.latest_run() if number is None else store.run(number)
        return of_run(store, run, output)
