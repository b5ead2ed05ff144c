"""How far single-threaded runs by different kernels part while they learn.

``python -m tests.benchmarks.kernels_apart --preset small --steps 300 --part attention=dense --part
attention=flex`` runs the training loop once per ``--part`` (comma-separated ``axis=name``; the same
one twice shows how far a run is from itself) and prints a JSON line for each: the largest relative
distance of loss and gradient norm from the first run, by hundreds of steps, and how far its kernels
are from plain PyTorch's before it trains.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

from fxrace.records.trial import Limits, Trial
from harness.config import DEFAULT_KNOBS, DEFAULT_SETTINGS
from tests.benchmarks.end_to_end import BOUND_S, recorded

SPAN = 100


def run_of(knobs: Mapping[str, str], asked: argparse.Namespace) -> list[dict[str, Any]]:
    """All events of one run with these parts."""
    settings = {"preset": asked.preset, "device": asked.device, "steps": asked.steps}
    trial = Trial(
        target="harness.trial:run",
        knobs={**DEFAULT_KNOBS, **knobs, "execution": "oracle"},
        settings={**DEFAULT_SETTINGS, **settings, "targets": 1, "drafters": 1},
        limits=Limits(trial_s=BOUND_S),
    )
    return recorded(trial)


def apart(
    mine: list[dict[str, Any]], theirs: list[dict[str, Any]], figure: str
) -> dict[str, float]:
    """Largest relative distance of one figure per ``SPAN`` steps, as far as both runs came."""
    found: dict[str, float] = {}
    for one, other in zip(steps(mine), steps(theirs), strict=False):
        span = f"{one['step'] // SPAN * SPAN}+"
        found[span] = max(found.get(span, 0.0), abs(one[figure] / other[figure] - 1.0))
    return found


def steps(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["kind"] == "step"]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="small")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--part", action="append", default=[], metavar="AXIS=NAME,...")
    asked = parser.parse_args(arguments)
    first: list[dict[str, Any]] = []
    for text in asked.part:
        knobs = dict(pair.split("=", 1) for pair in text.split(","))
        events = run_of(knobs, asked)
        first = first or events
        print(
            json.dumps({
                "part": text, "loss": apart(events, first, "loss"),
                "grad_norm": apart(events, first, "grad_norm"),
                "plain": [event["data"] for event in events if event["kind"] == "plain"],
                "failed": [e["data"] for e in events if e["kind"] in ("raised", "skipped")],
            }),
            flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
