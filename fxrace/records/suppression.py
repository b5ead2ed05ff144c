"""A Suppression: a finding that somebody has decided not to be stopped by, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Suppression:
    """Holds for findings that have all of what it names; at least one of the three is named.

    ``state`` is a name of the registry or ``module:attribute``, ``until`` an ISO date: the last
    day on which it holds, None for no end. ``line`` is where it begins in its file.
    """

    reason: str
    fingerprint: str | None = None
    hazard: str | None = None
    state: str | None = None
    until: str | None = None
    line: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Suppressed:
    """What a file of suppressions does to some findings. ``by`` maps the fingerprints of those
    that are suppressed to the reason; ``unused`` met none, ``expired`` hold no more.
    """

    by: Mapping[str, str]
    unused: tuple[Suppression, ...] = ()
    expired: tuple[Suppression, ...] = ()
