"""The document of ``fxrace doctor``: what this torch and machine can show, and what they hide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fxrace.records.environment import Environment
from fxrace.records.state import Keeping, Scope


@dataclass(frozen=True, kw_only=True, slots=True)
class StateRow:
    """One row of the registry as it is in the interpreter under test.

    ``resolved`` False has the reason: the versions of torch it exists in, or what went wrong.
    ``expected`` tells the two apart: False when this torch is not meant to have it.
    """

    name: str
    attribute: str
    resolved: bool
    expected: bool
    scope: Scope
    keeping: Keeping
    borrowed_by: str
    lock: str
    why: str
    reason: str
    references: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ability:
    """One thing fxrace would like to do here. ``reason`` is why not, or how well."""

    ok: bool
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DiscoveredRow:
    """An attribute of torch that a region changes. ``registered`` is the State of that name."""

    attribute: str
    keeping: Keeping
    operations: tuple[str, ...]
    registered: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class DoctorDocument:
    """What ``fxrace doctor --json`` prints.

    ``abilities`` holds ``fork``, ``py_spy``, ``faulthandler``, ``gpus`` and ``hooks.<family>``.
    ``discovered`` is None unless discovery was asked for.
    """

    schema: str
    schema_version: int
    environment: Environment
    states: tuple[StateRow, ...]
    abilities: Mapping[str, Ability]
    discovered: tuple[DiscoveredRow, ...] | None = None

    @property
    def blind(self) -> tuple[str, ...]:
        """States that ought to be there and are not, and hook families that cannot attach."""
        return (
            *(row.name for row in self.states if row.expected and not row.resolved),
            *(
                name
                for name, ability in self.abilities.items()
                if name.startswith("hooks.") and not ability.ok
            ),
        )
