"""The events that the trials of a stored run left behind, for formats that draw them.

Only a trial that was not clean keeps its record, and its folder may have been removed since.
"""

from __future__ import annotations

import sys

from fxrace.errors import NothingToShow
from fxrace.launch.record_file import EVENTS, read_trace
from fxrace.records.document import SweepDocument
from fxrace.render.perfetto import Recorded
from fxrace.render.view import words
from fxrace.store import Run, Store

#: A viewer shows a few dozen processes well, and a record may be megabytes.
MOST = 40


def recorded(store: Store, run: Run, document: SweepDocument) -> tuple[Recorded, ...]:
    """The trials with a record, those with most findings first. Raises NothingToShow."""
    rows = {row.digest: row for row in document.trials}
    folders = {one.digest: one.directory for one in store.trials_of(run) if one.directory}
    ranked = sorted(folders, key=lambda digest: -len(rows[digest].findings))
    found: list[Recorded] = []
    left = 0
    for digest in ranked:
        file = folders[digest] / EVENTS
        if len(found) == MOST:
            left += file.is_file()
            continue
        trace = read_trace(file)
        if trace.events:
            found.append(Recorded(trial=rows[digest], trace=trace))
    if not found:
        raise NothingToShow(
            f"run {run.number} has no recorded traces: only trials that were not clean keep their "
            "record, and none of this run's is there",
            remedy="choose another format, or run the sweep again",
        )
    if left:
        told = words.count(left, "recorded trial")
        print(f"fxrace: the first {MOST} are drawn, {told} left out", file=sys.stderr)
    return tuple(found)
