"""Every part inside a real, short training: its curve is that of the plain combination.

Losses alone would not do: AdamW hides a gradient that is wrong by a factor, its norm does not.

One drafter (two for executions), dense attention, so that no part can hide behind another.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from fxrace.records.event import Trace
from harness.config import DEFAULT_KNOBS
from tests.conformance.folder import names, usable
from tests.unit.harness_threads.trials import run_trial

PLAIN = {**DEFAULT_KNOBS, "attention": "dense", "execution": "oracle"}
# fp32, three steps; the largest relative difference seen was 2e-6 (flex against dense).
TOLERANCE = 1e-4
STEPS = 3

CASES = [
    (axis, name)
    for axis in ("locking", "checkpoint", "warmup", "loss", "attention", "execution")
    for name in names(axis)
]


def curve(trace: Trace) -> dict[tuple[int, int, str], float]:
    """(drafter, step, quantity) -> value."""
    return {
        (event.data["drafter"], event.data["step"], quantity): event.data[quantity]
        for event in trace.of("step")
        for quantity in ("loss", "grad_norm")
    }


@cache
def reference(root: Path, drafters: int) -> dict[tuple[int, int, str], float]:
    return curve(run_trial(root, PLAIN, steps=STEPS, drafters=drafters))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("training")


@pytest.mark.parametrize(("axis", "name"), CASES, ids=[f"{a}-{n}" for a, n in CASES])
def test_the_curve_is_the_plain_one(root: Path, axis: str, name: str) -> None:
    usable(axis, name)
    drafters = 2 if axis == "execution" else 1
    trace = run_trial(root, {**PLAIN, axis: name}, steps=STEPS, drafters=drafters)
    assert not list(trace.of("raised", "broken", "skipped"))
    assert curve(trace) == pytest.approx(reference(root, drafters), rel=TOLERANCE)
    assert len(curve(trace)) == 2 * STEPS * drafters
