"""What the field report claims, each with the experiments that settle it. One file per claim.

A file ``c<n>_<words>.py`` holds ``claim = Claim(...)``; nothing else needs editing. Importing one
imports no torch: the rules, which are in the same file, are applied by the parent, to values that
a trial process measured.

The surprise: each experiment is three measurements. ``measured`` is the question; the other two
are the same measurement in a world where the answer is known, and each runs in a process of its
own like the first.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fxrace.core.claims import Rule
from fxrace.records.claims import Values

if TYPE_CHECKING:
    from fxrace.probe.claims._bench import Bench

Measure: TypeAlias = "Callable[[Bench], Values]"
MEASURED, CONTROL_TRUE, CONTROL_FALSE = "measured", "control_true", "control_false"
ARMS = (MEASURED, CONTROL_TRUE, CONTROL_FALSE)
_FILE = re.compile(r"c\d+_\w+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """``when`` is the condition it speaks of, as a clause that follows TRUE or FALSE.

    ``control_true`` must make the rule say TRUE, ``control_false`` FALSE, on every torch.
    """

    id: str
    when: str
    rule: Rule
    measured: Measure
    control_true: Measure
    control_false: Measure

    def arm(self, name: str) -> Measure:
        """The measurement of this name, one of ``ARMS``."""
        if name not in ARMS:
            raise KeyError(name)
        found: Measure = getattr(self, name)
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """``depends_on`` is what its experiments differ in, should they disagree."""

    id: str
    statement: str
    depends_on: str
    experiments: tuple[Experiment, ...]

    def experiment(self, id: str) -> Experiment:
        """The experiment of this id. Raises KeyError."""
        return {one.id: one for one in self.experiments}[id]


def known() -> dict[str, Claim]:
    """Every claim of the folder by its id, in order. Imports no torch."""
    files = (module.name for module in pkgutil.iter_modules(__path__) if _FILE.match(module.name))
    claims: list[Claim] = [importlib.import_module(f"{__name__}.{name}").claim for name in files]
    return {claim.id: claim for claim in sorted(claims, key=lambda claim: int(claim.id[1:]))}
