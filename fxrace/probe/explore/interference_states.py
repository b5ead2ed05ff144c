"""The RESTORED States, read in microseconds and put back by hand, between two threads' steps.

``probe.states`` resolves every row anew at each reading, which is right twice a trial and too
slow at every stop of a thread. Here each row is resolved once; a reading is a tuple of values.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from fxrace.core.states import STATES
from fxrace.probe.states import kept, same, told, version
from fxrace.records.state import Keeping, Scope

Reading = tuple[Any, ...]


class Reader:
    """All RESTORED process-wide States of this torch, resolved. ``baseline`` is what they were."""

    def __init__(self) -> None:
        present = version()
        self.names: list[str] = []
        self._places: list[tuple[Any, str]] = []
        for state in STATES:
            wanted = state.keeping is Keeping.RESTORED and state.scope is Scope.PROCESS
            if wanted and state.shared_in(present):
                self._resolve(state.name, state.attribute)
        self.baseline = self.read()

    def _resolve(self, state: str, attribute: str) -> None:
        module, _, path = attribute.partition(":")
        try:
            holder: Any = importlib.import_module(module)
            *outer, last = path.split(".")
            for name in outer:
                holder = getattr(holder, name)
            getattr(holder, last)
        except (ImportError, AttributeError):
            return  # the trial says so once, when its hooks look for States
        self.names.append(state)
        self._places.append((holder, last))

    def read(self) -> Reading:
        """The values now; containers are copied."""
        return tuple(kept(getattr(holder, name)) for holder, name in self._places)

    def changed(self, before: Reading, now: Reading) -> tuple[str, ...]:
        """The names of the States that differ between two readings."""
        return tuple(
            name
            for name, was, found in zip(self.names, before, now, strict=True)
            if was is not found and not same(was, found)
        )

    def off(self, now: Reading) -> tuple[str, ...]:
        """The names of the States that are off their baseline."""
        return self.changed(self.baseline, now)

    def put(self, names: tuple[str, ...], reading: Reading) -> None:
        """Give these States the values they have in a reading; dictionaries in place."""
        for state, (holder, name), value in zip(self.names, self._places, reading, strict=True):
            if state in names:
                put_attribute(holder, name, value)

    def told(self, names: tuple[str, ...], reading: Reading) -> Mapping[str, str]:
        """These States' values as text."""
        pairs = zip(self.names, reading, strict=True)
        return {state: told(value) for state, value in pairs if state in names}


def put_attribute(holder: Any, name: str, value: Any) -> None:
    """Set it; a container of the same kind is refilled, because others may hold on to it."""
    present = getattr(holder, name, None)
    if isinstance(value, dict) and isinstance(present, type(value)):
        present.clear()
        present.update(value)
    elif isinstance(value, list) and isinstance(present, list):
        present[:] = value
    else:
        setattr(holder, name, kept(value))
