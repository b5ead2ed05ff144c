"""T1: a drafter's loss or gradient leaves the single-threaded reference on the same batches."""

from __future__ import annotations

from fxrace.core.curve import Departure, curve_of, departures
from fxrace.core.detect import Detector
from fxrace.core.evidence import Evidence
from fxrace.core.fingerprint import fingerprint
from fxrace.records.finding import Finding, Side, Tier, Value


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """One finding per drafter that departed; nothing without a usable reference."""
    reference = evidence.reference
    if reference is None or reference.problem is not None:
        return ()
    return tuple(map(_finding, departures(curve_of(evidence.trace), reference.curve)))


def _finding(departure: Departure) -> Finding:
    drafter = f"drafter-{departure.drafter}"
    text = (
        f"{departure.quantity} {departure.got:.6g} at step {departure.step}, "
        f"{departure.expected:.6g} when run alone"
    )
    return Finding(
        fingerprint=fingerprint(Tier.SILENT_WRONG, state=None, key=("departure",)),
        title="drafter trains on wrong numbers: its curve left the single-threaded reference",
        tier=Tier.SILENT_WRONG,
        state=None,
        hazard=None,
        sides=(Side(thread=drafter, region="step", access=text),),
        symptoms=(f"{drafter}: {text}",),
        value=Value(before=f"{departure.expected:.6g}", after=f"{departure.got:.6g}"),
    )


detector = Detector(find=find)
