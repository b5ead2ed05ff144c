"""Loss curves, and what it means that two of them agree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fxrace.records.event import Trace

LOSS_TOLERANCE = 2e-3
GRAD_NORM_TOLERANCE = 2e-2
DOUBLING_STEPS, DRIFTING_STEPS = 100, 300
"""Training is chaotic: what two runs differ by grows by itself. Seen on an H200 in bf16, dense and
flex attention: 0.4 % of the loss and 3 % of the norm after 105 steps. So tolerances double with
every so many steps, for the first so many only: a tolerance without an end sees nothing.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One optimizer step: loss before the update and the gradient's norm before clipping."""

    loss: float
    grad_norm: float


Curve = Mapping[tuple[int, int], Point]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """What the loop computes when nothing runs beside it.

    ``problem`` is why it cannot serve (it failed, or its two runs differ), else None.
    """

    curve: Curve
    problem: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Departure:
    """The first step at which a drafter left the reference."""

    drafter: int
    step: int
    quantity: str
    got: float
    expected: float


def curve_of(trace: Trace) -> Curve:
    """(drafter, step) -> Point, from the ``step`` events."""
    return {
        (event.data["drafter"], event.data["step"]): Point(
            loss=float(event.data["loss"]), grad_norm=float(event.data["grad_norm"])
        )
        for event in trace.of("step")
    }


def tolerances_of(trace: Trace) -> tuple[float, float]:
    """Of loss and gradient norm, as the run's number formats need them; fp32's where not said."""
    said = trace.last("tolerance")
    if said is None:
        return LOSS_TOLERANCE, GRAD_NORM_TOLERANCE
    return float(said.data["loss"]), float(said.data["grad_norm"])


def departures(
    curve: Curve,
    reference: Curve,
    tolerances: tuple[float, float] = (LOSS_TOLERANCE, GRAD_NORM_TOLERANCE),
) -> tuple[Departure, ...]:
    """Per drafter the first step outside tolerance; steps that are missing are not compared.

    Tolerances, of loss and gradient norm, are relative, and those of the first step.
    """
    first: dict[int, Departure] = {}
    for (drafter, step), point in sorted(curve.items()):
        expected = reference.get((drafter, step))
        if expected is None or drafter in first:
            continue
        drift = 2.0 ** (min(step, DRIFTING_STEPS) / DOUBLING_STEPS)
        for quantity, got, wanted, tolerance in (
            ("loss", point.loss, expected.loss, tolerances[0]),
            ("gradient norm", point.grad_norm, expected.grad_norm, tolerances[1]),
        ):
            if not _close(got, wanted, tolerance * drift):
                first[drafter] = Departure(
                    drafter=drafter, step=step, quantity=quantity, got=got, expected=wanted
                )
                break
    return tuple(first[drafter] for drafter in sorted(first))


def reference_from(first: Curve, second: Curve) -> Reference:
    """A Reference out of two runs; unusable when they are empty or differ."""
    if not first or first.keys() != second.keys():
        return Reference(curve=first, problem="the reference did not finish the same steps twice")
    if departures(first, second):
        return Reference(curve=first, problem="the reference differs from itself")
    return Reference(curve=first)


def _close(got: float, wanted: float, tolerance: float) -> bool:
    if not math.isfinite(got):
        return False
    return abs(got - wanted) <= tolerance * max(abs(wanted), 1e-6)


def to_plain(curve: Curve) -> dict[str, Any]:
    """A curve as JSON-able values: ``{"curve": [[drafter, step, loss, grad_norm], ...]}``."""
    return {"curve": [[d, s, p.loss, p.grad_norm] for (d, s), p in sorted(curve.items())]}


def from_plain(plain: Mapping[str, Any]) -> Curve:
    """The curve in what ``to_plain`` gave; numbers that JSON has no word for come back as NaN."""
    return {
        (drafter, step): Point(loss=_number(loss), grad_norm=_number(grad_norm))
        for drafter, step, loss, grad_norm in plain.get("curve", ())
    }


def _number(value: float | None) -> float:
    return math.nan if value is None else value
