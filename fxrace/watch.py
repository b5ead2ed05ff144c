"""``with fxrace.watch() as seen:`` looks at one block of a program that is already running.

The same hooks and detectors as ``fxrace run``, on the block alone: they come off when it ends,
and ``seen.findings`` then holds what was found. The surprise: functions compiled before the
block are watched too, but a thread that was inside torch when it began is not.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fxrace.core.program import conclude
from fxrace.probe.lookout import Lookout
from fxrace.probe.own_record import OwnRecord
from fxrace.records.finding import Finding


@dataclass(kw_only=True, slots=True)
class Seen:
    """``findings`` and ``blind`` (what, reason) are filled in when the block ends."""

    findings: tuple[Finding, ...] = ()
    blind: tuple[tuple[str, str], ...] = ()


@contextmanager
def watch() -> Iterator[Seen]:
    """Watch every thread of this process for the length of the block. Imports torch."""
    seen = Seen()
    with tempfile.TemporaryDirectory(prefix="fxrace-") as directory:
        record = OwnRecord(Path(directory))
        lookout = Lookout(record)
        lookout.begin()
        try:
            yield seen
        finally:
            lookout.end()
            trace = record.trace()
            seen.findings = conclude(trace)
            seen.blind = tuple((e.data["what"], e.data["reason"]) for e in trace.of("blind"))
