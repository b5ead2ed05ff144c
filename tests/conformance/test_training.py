"""Every part inside a real, short training: its curve is that of the plain combination.

Losses alone would not do: AdamW hides a gradient that is wrong by a factor, its norm does not.

Dense attention, so that no part can hide behind another.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from fxrace.core.expand import MEANING
from fxrace.records.event import Trace
from harness.config import DEFAULT_KNOBS
from tests.conformance.folder import names, usable
from tests.unit.harness_threads.trials import run_trial

PLAIN = {**DEFAULT_KNOBS, "attention": "dense", "execution": "oracle"}
# fp32, three steps; the largest relative difference seen was 2e-6 (flex against dense).
TOLERANCE = 1e-4
STEPS = 3

# Axes whose parts must leave the numbers alone, and those whose parts decide them: there the
# threads must compute what the oracle of the same part computes.
EQUAL = (
    "locking", "checkpoint", "warmup", "loss", "attention", "layers", "queue", "cudagraphs",
    "execution",
)  # fmt: skip

CASES = [(axis, name) for axis in (*EQUAL, *MEANING) for name in names(axis)]


def curve(trace: Trace) -> dict[tuple[int, int, str], float]:
    """(drafter, step, quantity) -> value."""
    return {
        (event.data["drafter"], event.data["step"], quantity): event.data[quantity]
        for event in trace.of("step")
        for quantity in ("loss", "grad_norm")
    }


@cache
def reference(root: Path, axis: str, name: str) -> dict[tuple[int, int, str], float]:
    return curve(run_trial(root, {**PLAIN, axis: name}, steps=STEPS, drafters=2))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("training")


@pytest.mark.parametrize(("axis", "name"), CASES, ids=[f"{a}-{n}" for a, n in CASES])
def test_the_curve_is_the_plain_one(root: Path, axis: str, name: str) -> None:
    part = usable(axis, name)
    meaning = axis in MEANING
    wanted = reference(root, axis, name) if meaning else reference(root, "locking", "none")
    knobs = {**PLAIN, "execution": "threads"} if meaning else PLAIN
    trace = run_trial(root, {**knobs, axis: name}, steps=STEPS, drafters=2)
    assert not list(trace.of("raised", "broken", "skipped"))
    narrow = axis == "precision" and part.build().tolerances("cpu")[0] > 1e-2
    assert curve(trace) == pytest.approx(wanted, rel=0.02 if narrow else TOLERANCE)
    assert len(curve(trace)) == 2 * STEPS * 2


def test_every_axis_is_among_them() -> None:
    assert {axis for axis, _ in CASES} == set(DEFAULT_KNOBS)


def test_what_changes_the_meaning_changes_the_curve(root: Path) -> None:
    """Otherwise the comparison of a part with its own oracle would show nothing."""
    plain = reference(root, "sync", "none")
    for axis, name in (
        ("sync", "mean"), ("sync", "ratio_of_sums"), ("labels", "from_anchor"),
        ("objective", "d_pace"), ("precision", "bf16_pure"), ("schedule", "wsd"),
    ):  # fmt: skip
        assert reference(root, axis, name) != pytest.approx(plain, rel=TOLERANCE), name
