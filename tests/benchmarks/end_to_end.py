"""Targets and drafters on their devices: how near the whole loop comes to a drafter alone.

``python -m tests.benchmarks.end_to_end --preset paper_8b --split 1:1 --set execution=threads``
runs one trial of the training loop in this process, without reference, and prints one JSON
document: per row length the median step in milliseconds with the waits in it, the loop's throughput
and memory, and queue waits. ``--set AXIS=PART`` chooses parts; compare with ``drafter_step
--whole`` at the same length.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fxrace.probe.recorder import Recorder
from fxrace.records.trial import Limits, Trial
from harness.config import DEFAULT_KNOBS, DEFAULT_SETTINGS
from harness.trial import run

FAST = {
    "attention": "flex_isolated", "loss": "fused_linear_ce", "warmup": "serial_per_drafter",
    "locking": "none",
}  # fmt: skip
TIMES = ("step_s", "wait_s", "handoff_s", "stall_s", "lock_wait_s")
BOUND_S = 540.0


def recorded(trial: Trial) -> list[dict[str, Any]]:
    """All events of one trial."""
    with TemporaryDirectory() as folder:
        record = Path(folder) / "events.jsonl"
        recorder = Recorder(record)
        try:
            run(trial, recorder)
        finally:
            recorder.close()
        return [json.loads(line) for line in record.read_text().splitlines()]


def figures(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over steps in which nothing compiled and that are not their drafter's first."""
    steps = [e["data"] for e in events if e["kind"] == "step"]
    steady = [
        now
        for drafter in {step["drafter"] for step in steps}
        for before, now in _pairs([s for s in steps if s["drafter"] == drafter])
        if now["compiles"] == before["compiles"]
    ]
    per_context = {}
    for context in sorted({step["context"] for step in steady}):
        mine = [step for step in steady if step["context"] == context]
        medians = {name: 1e3 * statistics.median(s[name] for s in mine) for name in TIMES}
        per_context[context] = {"steps": len(mine), **medians}
    last = {e["kind"]: e["data"] for e in events}
    return {
        "steps_ms": per_context,
        "summary": last.get("summary"),
        "queues": [e["data"] for e in events if e["kind"] == "queue"],
        "failed": [str(e["data"])[:600] for e in events if e["kind"] in ("raised", "skipped")],
    }


def _pairs(steps: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    ordered = sorted(steps, key=lambda step: int(step["step"]))
    return list(itertools.pairwise(ordered))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="paper_8b")
    parser.add_argument("--split", default="1:1")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--set", action="append", default=[], metavar="AXIS=PART")
    asked = parser.parse_args(arguments)
    targets, drafters = map(int, asked.split.split(":"))
    knobs = {**DEFAULT_KNOBS, **FAST, **dict(pair.split("=", 1) for pair in asked.set)}
    trial = Trial(
        target="harness.trial:run",
        knobs=knobs,
        settings={
            **DEFAULT_SETTINGS, "preset": asked.preset, "device": asked.device,
            "targets": targets, "drafters": drafters, "steps": asked.steps,
        },
        limits=Limits(trial_s=BOUND_S),
    )  # fmt: skip
    print(json.dumps({"split": asked.split, "knobs": knobs, **figures(recorded(trial))}))


if __name__ == "__main__":
    main(sys.argv[1:])
