"""The States that must be back at their baseline, read fast enough to do so at every line.

Each State is reduced to one holder (a module or class) and one name in it, once. Modules that
are not imported yet are left alone: importing is not the observer's business, and what is not
imported is at its baseline. ``refresh`` at a quiet moment takes up what was imported since.
"""

from __future__ import annotations

import sys
from operator import is_not
from typing import Any

from fxrace.core.states import STATES
from fxrace.probe.explore.played import Deviation, Stood
from fxrace.probe.states import kept, same, told, version
from fxrace.records.state import Keeping, Scope, State


class Watched:
    """Baselines of every RESTORED State of this process. ``off`` costs a few microseconds."""

    def __init__(self, *names: str) -> None:
        self._only = frozenset(names)
        self._version = version()
        self._rows: list[tuple[State, Any, str, Any]] = []
        self.refresh()

    def refresh(self) -> None:
        """Take the present values as baselines of States not known yet. No region may be open."""
        known = {state.name for state, *_ in self._rows}
        for state in STATES:
            if state.name in known or not self._wanted(state):
                continue
            found = _resolved(state)
            if found is not None:
                holder, name = found
                self._rows.append((state, holder, name, kept(getattr(holder, name))))
        self._prepare_fast()

    def _prepare_fast(self) -> None:
        """Dictionary and key of each State that lies in its holder's own dictionary."""
        own = [(s, vars(h), n) for s, h, n, _ in self._rows if n in vars(h)]
        held = [row for row in own if type(row[1][row[2]]) in (dict, list, set)]
        self._fast = [(space, name) for _, space, name in own]
        self._containers = [(space, name) for _, space, name in held]
        self._fast_names = [state.name for state, *_ in (*own, *held)]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(state.name for state, *_ in self._rows)

    def values(self) -> list[Any]:
        """Something of each State that is another object when it was written; see ``written``.

        Containers by their length too: most are changed in place, and copying is too slow.
        Settings that a module computes (``torch._dynamo.config``) are left out here.
        """
        now = [space.get(name) for space, name in self._fast]
        now += [len(space[name]) for space, name in self._containers]
        return now

    def written(self, before: list[Any], now: list[Any]) -> tuple[str, ...]:
        """The States that differ between two readings, in registry order."""
        if not any(map(is_not, before, now)):
            return ()
        found = [n for n, a, b in zip(self._fast_names, before, now, strict=False) if a is not b]
        return tuple(dict.fromkeys(found))

    def off(self) -> tuple[tuple[str, str], ...]:
        """``(name, value as text)`` of each State that is off its baseline now."""
        return tuple((state.name, told(value)) for state, value, _ in self._off())

    def deviations(self, stood: list[Stood]) -> tuple[Deviation, ...]:
        """What is off its baseline when every thread has ended."""
        during: dict[str, str] = {}
        for one in stood:
            during.update(one.away)
        return tuple(
            Deviation(
                state=state.name,
                attribute=state.attribute,
                before=told(before),
                during=during.get(state.name, ""),
                after=told(value),
            )
            for state, value, before in self._off()
        )

    def _off(self) -> list[tuple[State, Any, Any]]:
        found = []
        for state, holder, name, before in self._rows:
            now = getattr(holder, name, None)
            if now is not before and not same(before, now):
                found.append((state, now, before))
        return found

    def _wanted(self, state: State) -> bool:
        return (
            state.keeping is Keeping.RESTORED
            and state.scope is Scope.PROCESS
            and state.shared_in(self._version)
            and (not self._only or state.name in self._only)
        )


def _resolved(state: State) -> tuple[Any, str] | None:
    module, _, path = state.attribute.partition(":")
    holder: Any = sys.modules.get(module)
    *inner, name = path.split(".")
    for one in inner:
        holder = getattr(holder, one, None)
    return (holder, name) if hasattr(holder, name) else None
