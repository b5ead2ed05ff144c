"""A Trial: one fully specified execution, and the digest that names it for ever."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

Setting = str | int | float | bool | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How long a trial may take, in seconds.

    A trial is hung when it has recorded nothing and used no processor time for ``silence_s``,
    or recorded nothing for ``busy_s`` although busy (compiling may take minutes), or has not
    ended after ``trial_s``.
    """

    trial_s: float = 600.0
    silence_s: float = 20.0
    busy_s: float = 300.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """Target + knobs + settings + seed + limits.

    ``target`` names the callable ``module:function`` that the trial process runs.
    ``knobs`` is axis -> value; ``settings`` holds what is fixed over a sweep (preset, split,
    device). ``repeat`` seeds what chance may vary (pressure); ``seed`` seeds the data, so
    that all repeats share one reference.
    """

    target: str
    knobs: Mapping[str, str]
    settings: Mapping[str, Setting] = field(default_factory=dict)
    seed: int = 0
    repeat: int = 0
    limits: Limits = field(default_factory=Limits)

    @property
    def digest(self) -> str:
        """16 hex digits over everything above; equal specifications have equal digests."""
        # What ``asdict`` would give without its deep copies: a report asks this of every trial.
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        plain["limits"] = asdict(self.limits)
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Trial:
        """Rebuild from parsed JSON without a library (the trial process has none)."""
        values = dict(plain)
        values["limits"] = Limits(**values["limits"])
        return cls(**values)
