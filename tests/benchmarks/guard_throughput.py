"""What a guard costs the whole training loop, measured within one run of it. Not part of CI.

``python -m tests.benchmarks.guard_throughput one_owner [--preset tiny] [--split 5:3]`` trains with
warm threads on a GPU while the guard is removed and installed in turn, every ``--window`` seconds,
and prints one JSON document: draft slots per second with and without, and the ratio of
neighbouring windows, median with a 95 % interval. Trials of different processes differ by more
than any guard costs; neighbouring seconds of one process do not. Steps that reach into a switch
are left out, and so are the first two pairs: what asks ``is_compiling()`` compiles once more under
a guard. The loop warms up under the guard. ``--set AXIS=PART`` chooses parts: compiled flex on the
CPU enters dispatch modes in every call, by which a few unguarded seconds leave torch in a state
that guards refuse, and this ends; ``attention=dense`` with ``layers=compiled`` does not.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from fxrace import guards
from fxrace.probe.recorder import Recorder
from fxrace.records.trial import Limits, Trial
from harness.config import DEFAULT_KNOBS, DEFAULT_SETTINGS
from harness.trial import run
from tests.benchmarks.guard_cost import interval

PATIENCE_S, ENOUGH, UNCOUNTED = 5.0, 10**6, 2
KNOBS = {
    **DEFAULT_KNOBS, "attention": "flex_isolated", "warmup": "main_thread", "locking": "none",
}  # fmt: skip
Window = tuple[bool, float, float]
"""(guarded, began, ended), seconds on the monotonic clock."""


class Alternating(Recorder):  # type: ignore[misc]
    """A recorder that keeps when each step ran, and says when the warm part begins."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.steps: list[tuple[float, float, int, int]] = []
        self.warm = threading.Event()

    def emit(self, kind: str, **data: Any) -> None:
        if kind == "step":
            now = time.monotonic()
            self.steps.append((now - data["step_s"], now, data["slots"], data["compiles"]))
            if data["step"] >= 3:
                self.warm.set()
        super().emit(kind, **data)


def installed(names: list[str]) -> Any:
    """The guards' handle. They refuse while a thread is inside a dispatch mode; that passes."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return guards.install(*names)
        except guards.GuardRefused:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def alternate(names: list[str], pairs: int, window_s: float, handle: Any) -> list[Window]:
    """Remove and install the guards in turn; which of the two comes first alternates too."""
    windows = []
    for number in range(pairs):
        for guarded in (True, False) if number % 2 else (False, True):
            if guarded and handle is None:
                handle = installed(names)
            elif not guarded and handle is not None:
                handle = handle.remove()
            began = time.monotonic()
            time.sleep(window_s)
            windows.append((guarded, began, time.monotonic()))
    return windows


def rate(window: Window, steps: list[tuple[float, float, int, int]]) -> float:
    """Slots per second of the steps that lie in this window."""
    _, low, high = window
    inside = [step for step in steps if step[0] >= low and step[1] <= high]
    if not inside:
        return 0.0
    return sum(step[2] for step in inside) / (max(s[1] for s in inside) - min(s[0] for s in inside))


def measure(
    names: list[str], knobs: dict[str, str], settings: dict[str, Any], pairs: int, window_s: float
) -> dict[str, Any]:
    trial = Trial(
        target="harness.trial:run", knobs={**KNOBS, **knobs},
        settings={**DEFAULT_SETTINGS, **settings, "steps": ENOUGH}, limits=Limits(trial_s=3600.0),
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        recorder = Alternating(Path(folder) / "events.jsonl")
        loop = threading.Thread(target=run, args=(trial, recorder), daemon=True)
        handle = installed(names)
        loop.start()
        recorder.warm.wait(timeout=300)
        compiled = [step[3] for step in recorder.steps]
        windows = alternate(names, pairs + UNCOUNTED, window_s, handle)[2 * UNCOUNTED :]
        steps = list(recorder.steps)
    rates = [(window[0], rate(window, steps)) for window in windows]
    ratios = [
        two[1] / one[1] if two[0] else one[1] / two[1]
        for one, two in zip(rates[::2], rates[1::2], strict=True)
        if one[1] and two[1]  # a window may be too short for a whole step
    ]
    return {
        "guards": names, "torch": torch.__version__, **knobs, **settings, "window_s": window_s,
        "pairs": len(ratios), "ratio": interval(ratios),
        "with": statistics.median(r for guarded, r in rates if guarded),
        "without": statistics.median(r for guarded, r in rates if not guarded),
        "compiles_before": max(compiled), "compiles_after": max(step[3] for step in steps),
    }  # fmt: skip


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("guards", nargs="+")
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--split", default="5:3")
    parser.add_argument("--device", default="cpu", choices=["cuda", "cpu"])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--window", type=float, default=1.0)
    parser.add_argument("--set", action="append", default=[], metavar="AXIS=PART")
    asked = parser.parse_args(arguments)
    knobs = dict(pair.split("=", 1) for pair in asked.set)
    targets, drafters = map(int, asked.split.split(":"))
    settings = {
        "preset": asked.preset, "device": asked.device, "targets": targets, "drafters": drafters,
    }  # fmt: skip
    print(json.dumps(measure(asked.guards, knobs, settings, asked.pairs, asked.window)), flush=True)
    os._exit(0)  # the loop still trains


if __name__ == "__main__":
    main(sys.argv[1:])
