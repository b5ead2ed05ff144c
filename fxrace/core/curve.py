"""Loss curves, and what it means that two of them agree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fxrace.records.event import Trace

LOSS_TOLERANCE = 2e-3
GRAD_NORM_TOLERANCE = 2e-2
"""Relative, where a run does not say how far its number formats let it differ: fp32's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One optimizer step: loss before the update and the gradient's norm before clipping."""

    loss: float
    grad_norm: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """(drafter, step) -> Point, and how far from it an equal run may be.

    Tolerances, of loss and gradient norm, are relative. ``unlike`` says how it is wrong by itself,
    if it was compared with plain PyTorch and is.
    """

    points: Mapping[tuple[int, int], Point]
    tolerances: tuple[float, float] = (LOSS_TOLERANCE, GRAD_NORM_TOLERANCE)
    unlike: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """What the loop computes when nothing runs beside it.

    ``problem`` is why it cannot serve (it failed, its two runs differ, or it is wrong by itself),
    else None.
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
    """From the ``step`` events, and the ``tolerance`` and ``plain`` events if there are any."""
    points = {
        (event.data["drafter"], event.data["step"]): Point(
            loss=float(event.data["loss"]), grad_norm=float(event.data["grad_norm"])
        )
        for event in trace.of("step")
    }
    made = Curve(points=points, unlike=unlike_plain(trace))
    said = trace.last("tolerance")
    if said is None:
        return made
    return replace(made, tolerances=(float(said.data["loss"]), float(said.data["grad_norm"])))


def unlike_plain(trace: Trace) -> str | None:
    """What a reference computes otherwise than plain PyTorch on the same batch, in words."""
    event = trace.last("plain")
    if event is None or event.data["distance"] <= event.data["allowed"]:
        return None
    where = event.data["where"]
    named = {"loss": "its loss", "features": "its target's first layer"}
    what = named.get(where, f"its gradient of {where}")
    return (
        f"{what} is {event.data['distance']:.2g} from plain PyTorch's, relatively, on the same "
        f"batch of {event.data['context']} tokens to a row; {event.data['allowed']:g} is rounding"
    )


def departures(curve: Curve, reference: Curve) -> tuple[Departure, ...]:
    """Per drafter the first step outside tolerance; steps that are missing are not compared."""
    first: dict[int, Departure] = {}
    for (drafter, step), point in sorted(curve.points.items()):
        expected = reference.points.get((drafter, step))
        if expected is None or drafter in first:
            continue
        for quantity, got, wanted, tolerance in (
            ("loss", point.loss, expected.loss, curve.tolerances[0]),
            ("gradient norm", point.grad_norm, expected.grad_norm, curve.tolerances[1]),
        ):
            if not _close(got, wanted, tolerance):
                first[drafter] = Departure(
                    drafter=drafter, step=step, quantity=quantity, got=got, expected=wanted
                )
                break
    return tuple(first[drafter] for drafter in sorted(first))


def reference_from(first: Curve, second: Curve) -> Reference:
    """A Reference out of two runs; unusable when they are empty or differ."""
    if not first.points or first.points.keys() != second.points.keys():
        return Reference(curve=first, problem="the reference did not finish the same steps twice")
    if unlike := first.unlike or second.unlike:
        return Reference(curve=first, problem=f"the reference is wrong by itself: {unlike}")
    if departures(first, second):
        return Reference(curve=first, problem="the reference differs from itself")
    return Reference(curve=first)


def _close(got: float, wanted: float, tolerance: float) -> bool:
    if not math.isfinite(got):
        return False
    return abs(got - wanted) <= tolerance * max(abs(wanted), 1e-6)


def to_plain(curve: Curve) -> dict[str, Any]:
    """As JSON-able values: ``{"curve": [[drafter, step, loss, grad_norm], ...], "tolerances",
    "unlike"}``.
    """
    rows = [[d, s, p.loss, p.grad_norm] for (d, s), p in sorted(curve.points.items())]
    return {"curve": rows, "tolerances": list(curve.tolerances), "unlike": curve.unlike}


def from_plain(plain: Mapping[str, Any]) -> Curve:
    """The curve in what ``to_plain`` gave; numbers that JSON has no word for come back as NaN."""
    points = {
        (drafter, step): Point(loss=_number(loss), grad_norm=_number(grad_norm))
        for drafter, step, loss, grad_norm in plain.get("curve", ())
    }
    loss, grad_norm = plain.get("tolerances", (LOSS_TOLERANCE, GRAD_NORM_TOLERANCE))
    return Curve(points=points, tolerances=(loss, grad_norm), unlike=plain.get("unlike"))


def _number(value: float | None) -> float:
    return math.nan if value is None else value
