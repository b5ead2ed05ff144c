"""Runs trials of a small untrained preset in this process, and reads what they recorded."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import torch

from fxrace.probe.recorder import Recorder
from fxrace.records.event import Event, Trace
from fxrace.records.trial import Limits, Setting, Trial
from harness.trial import run

PRESET = '''"""As tiny, but smaller, and its target was never trained: nothing to wait for."""

from dataclasses import replace

from harness.recipes.tiny import preset as tiny

preset = replace(
    tiny, name="blank", target=replace(tiny.target, train_steps=0), rows=2, steps=4,
    contexts=(32, 48), drafter=replace(tiny.drafter, anchors=4), chunk_blocks=2,
)
'''


def part_file(root: Path, axis: str, name: str, text: str) -> Path:
    """Write a user's part below ``root`` and return its path."""
    path = root / axis / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def run_trial(root: Path, knobs: Mapping[str, str], **settings: Setting) -> Trace:
    """One trial of the preset ``blank``; ``knobs`` may name parts below ``root``."""
    torch._dynamo.reset()
    part_file(root, "recipes", "blank", PRESET)
    roots = [str(root), *filter(None, [os.environ.get("FXRACE_PARTS")])]
    record = root / "events.jsonl"
    record.unlink(missing_ok=True)
    recorder = Recorder(record)
    trial = Trial(
        target="harness.trial:run",
        knobs=knobs,
        settings={"preset": "blank", "parts": os.pathsep.join(roots), **settings},
        limits=Limits(trial_s=120.0),
    )
    try:
        run(trial, recorder)
    finally:
        recorder.close()
    return read(record)


def read(record: Path) -> Trace:
    """The events of a finished record."""
    lines = record.read_text().splitlines()
    return Trace(events=tuple(Event(**json.loads(line)) for line in lines))


def losses(trace: Trace) -> dict[tuple[int, int], float]:
    """(drafter, step) -> loss."""
    return {(e.data["drafter"], e.data["step"]): e.data["loss"] for e in trace.of("step")}
