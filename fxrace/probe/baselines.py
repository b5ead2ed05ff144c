"""The baseline of each State, read when the module it lies in is there, and not before.

Why: reading them all at once would import Dynamo, Inductor and export, seconds of a program that
may never compile. A State cannot be off its baseline before its module is imported, and the
reading comes before the import has returned to anybody.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable

from fxrace.core.states import STATES
from fxrace.probe.first_import import when_imported
from fxrace.probe.states import Snapshot, snapshot
from fxrace.records.state import State


class Baselines:
    """``taken`` is what ``record_leaks`` compares with; it grows until ``stop``."""

    def __init__(self) -> None:
        by_module: dict[str, list[State]] = defaultdict(list)
        for state in STATES:
            by_module[state.attribute.partition(":")[0]].append(state)
        there = [name for name in by_module if name in sys.modules]
        self.taken = snapshot(names=_names(s for name in there for s in by_module[name]))
        self._waiting = [
            when_imported(name, self._reader(_names(states)))
            for name, states in by_module.items()
            if name not in there
        ]

    def stop(self) -> Snapshot:
        """Wait for no further import; what was read so far."""
        for cancel in self._waiting:
            cancel()
        return self.taken

    def _reader(self, names: set[str]) -> Callable[[], None]:
        def read() -> None:
            found = snapshot(names=names)
            self.taken.values.update(found.values)
            self.taken.unresolved.update(found.unresolved)

        return read


def _names(states: Iterable[State]) -> set[str]:
    return {state.name for state in states}
