"""Axes, their values, and a Sweep over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fxrace.records.trial import Limits, Setting


@dataclass(frozen=True, kw_only=True, slots=True)
class PartFile:
    """One value of an axis as its file describes itself, read without running it.

    ``problem`` is why the file cannot be used (a syntax error, no docstring), else None.
    """

    name: str
    summary: str
    path: Path
    default: bool
    problem: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """A dimension of a sweep: one folder, one value per file."""

    name: str
    summary: str
    parts: tuple[PartFile, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def defaults(self) -> tuple[str, ...]:
        """The values a sweep uses when none are named: those marked, else the first."""
        marked = tuple(part.name for part in self.parts if part.default)
        return marked or self.names[:1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sweep:
    """Axes x repeats under one target, with what is fixed over all trials."""

    target: str
    axes: Mapping[str, tuple[str, ...]]
    settings: Mapping[str, Setting]
    seed: int = 0
    repeats: int = 1
    limits: Limits = field(default_factory=Limits)
