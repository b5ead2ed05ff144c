"""A Finding: a detector's claim, with both sides, how sure it is, and how to see it again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Tier(str, Enum):
    """How sure a finding is; T0 to T2 have no false positives given a deterministic reference."""

    FAILURE = "T0"
    SILENT_WRONG = "T1"
    LEAK = "T2"
    RACE = "T3"
    NEAR_MISS = "T4"

    @property
    def proven(self) -> bool:
        """True for T0 to T2. The others say what may happen, and change neither a verdict nor
        an exit status nor whether a replay came out the same.
        """
        return self not in (Tier.RACE, Tier.NEAR_MISS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """One stack frame."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One of the two threads in a finding. ``access`` is what it did to the State."""

    thread: str
    region: str
    access: str
    stack: tuple[Frame, ...] = ()
    locks_held: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """The State before, during and after the collision, as text."""

    before: str = ""
    during: str = ""
    after: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One cause. ``symptoms`` lists every way it showed; ``hazard`` is a catalogue slug or None;
    ``pattern`` is the name of the detector that claims it.

    ``fingerprint`` is computed from State, regions and normalised frames, never from the text
    of an exception, because one cause shows up as many texts.
    """

    fingerprint: str
    title: str
    tier: Tier
    state: str | None
    hazard: str | None
    sides: tuple[Side, ...]
    symptoms: tuple[str, ...]
    pattern: str = ""
    value: Value = Value()
    references: tuple[str, ...] = ()
