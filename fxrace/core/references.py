"""Which single-threaded reference each trial of a sweep is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fxrace.core import expand
from fxrace.core.curve import Curve, Reference, reference_from
from fxrace.records.trial import Trial

NOTHING = Curve(points={})


class References:
    """Made from the curves of the reference trials, by digest; one for each kind of trial."""

    def __init__(self, curves: Mapping[str, Curve]) -> None:
        self._curves = curves
        self._made: dict[tuple[str, ...], Reference] = {}

    def __call__(self, trial: Trial) -> Reference:
        """The reference of this trial; its ``problem`` says why there is none."""
        digests = tuple(one.digest for one in expand.references_of(trial))
        if digests not in self._made:
            self._made[digests] = reference_from(*(self._curves.get(d, NOTHING) for d in digests))
        return self._made[digests]

    def problems(self, trials: Sequence[Trial]) -> tuple[str, ...]:
        """Why some of these trials have no reference, each reason once."""
        found = (self(trial).problem for trial in trials)
        return tuple(dict.fromkeys(problem for problem in found if problem is not None))
