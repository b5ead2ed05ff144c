"""Writes the report of a run where people look for it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from fxrace.commands import _exhibits
from fxrace.errors import OutputUnwritable
from fxrace.records.document import SweepDocument
from fxrace.records.exploration import ExploreDocument
from fxrace.render import html
from fxrace.render.exploration import html as exploration

LATEST, LATEST_EXPLORATION = "report.html", "explore.html"


def write_report(document: SweepDocument, output: Path) -> SweepDocument:
    """Write ``report-<run>.html`` and point ``report.html`` at it; returns the document with
    the path in ``report``. Raises OutputUnwritable; the database is complete before this.
    """
    path = (output / f"report-{document.run}.html").absolute()
    document = replace(document, report=str(path))
    text = html.render(document, _exhibits.of_sweep(document, output))
    _written(text, path, output / LATEST)
    return document


def write_exploration(document: ExploreDocument, output: Path) -> ExploreDocument:
    """The same for an exploration: ``explore-<run>.html`` and ``explore.html``."""
    path = (output / f"explore-{document.run}.html").absolute()
    document = replace(document, report=str(path))
    _written(
        exploration.render(document, _exhibits.of_exploration(document)),
        path,
        output / LATEST_EXPLORATION,
    )
    return document


def _written(text: str, path: Path, latest: Path) -> None:
    try:
        _write(path, text)
        _write(latest, text)
    except OSError as error:
        raise OutputUnwritable(
            f"the report {path} cannot be written ({error.strerror})",
            remedy=f"the results are kept; run fxrace report -o {path.parent} once there is room",
        ) from error


def _write(path: Path, text: str) -> None:
    """Whole or not at all: a reader never sees half a page."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink()
