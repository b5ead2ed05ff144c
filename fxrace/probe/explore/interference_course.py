"""What one run of a pair does (Course), and with what (Prepared)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from fxrace.probe.explore.interference_states import Reader
from fxrace.probe.operations import Operation

Outcome = Mapping[str, Any]


class Order(str, Enum):
    A_FIRST = "a first"
    B_FIRST = "b first"
    B_ONLY = "b only"
    BETWEEN = "between"
    """B at stops of A."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Course:
    """What one run does.

    ``stops`` are names of A's points (None: all of them). ``heal`` names States that have their
    baseline while B runs, and that are put back as they were before when it has ended. ``mend``
    puts back what B left changed, so that the next stop of the same run finds what it would have
    found; only a run with one stop is evidence. ``wide`` does both for attributes that are no
    States: None for not at all, empty for all that are off, else for these paths (one empty path:
    for none, but say which of B's changes A undid). ``b_until``
    stops B at this point of its own until A has ended (and a healed State is then private to
    each). ``allowed`` are the outcomes of B that are
    not worth a word. ``points`` says every point, with the State there.
    """

    order: Order = Order.BETWEEN
    stops: frozenset[str] | None = frozenset()
    heal: tuple[str, ...] = ()
    mend: bool = False
    wide: tuple[str, ...] | None = None
    detail: bool = False
    b_until: str = ""
    allowed: tuple[Outcome, ...] = ()
    points: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """Both operations with their subjects, as they were before any thread started."""

    a: Operation
    b: Operation
    a_subject: Any
    b_subjects: Sequence[Any]
    reader: Reader
