"""A program to schedule: how to make fresh bodies, and how to make results portable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Body = Callable[[], Any]


def as_it_is(result: Any) -> Any:
    return result


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """``prepare`` is called before every schedule, by no participant, and makes one body each.

    ``condense`` turns a result into plain values that can be compared and sent to another
    process; it runs when every thread has ended. ``name`` goes into tokens. ``everywhere`` are
    the threads that open no region: at grain ``call`` their whole body counts as one.
    """

    prepare: Callable[[], Sequence[Body]]
    names: tuple[str, ...] = ("A", "B")
    condense: Callable[[Any], Any] = as_it_is
    name: str = ""
    everywhere: frozenset[int] = frozenset()
