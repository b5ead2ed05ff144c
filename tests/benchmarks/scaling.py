"""The same slots over one, two, four and eight GPUs: how speed grows, and where it would end.

``python -m tests.benchmarks.scaling --preset paper_4b --split 5:3 [--gpus 1,2]`` runs the training
loop once per number of GPUs, each in a process that sees the first so many of them, and prints one
JSON document per run as it ends, then the fit as the last. Slots are dealt over the GPUs there are,
so every run has the same threads and the same work. Numbers beyond the GPUs of this machine are
left out and named in ``not_run``.

The fit is Amdahl's law: the time for a draft slot is ``serial_s + shared_s / GPUs``, by least
squares; ``expected`` is what that gives for eight. Two points define it, so only from three on does
``misfit`` (the largest relative error over the points) say anything.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

MOST = 8


def fitted(speeds: Mapping[int, float]) -> dict[str, Any]:
    """Amdahl's law through (GPUs -> draft slots/s); needs two points that differ in GPUs."""
    if len(speeds) < 2:
        return {"problem": "one number of GPUs shows no trend"}
    points = [(1 / gpus, 1 / speed) for gpus, speed in speeds.items()]
    x_mean, y_mean = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    spread = sum((x - x_mean) ** 2 for x, _ in points)
    shared = sum((x - x_mean) * (y - y_mean) for x, y in points) / spread
    serial = y_mean - shared * x_mean

    def speed_at(gpus: int) -> float:
        return 1 / (serial + shared / gpus)

    return {
        "serial_s": serial, "shared_s": shared, "expected": {MOST: speed_at(MOST)},
        "misfit": max(abs(speed_at(gpus) / speed - 1) for gpus, speed in speeds.items()),
    }  # fmt: skip


def measured(gpus: int, asked: argparse.Namespace) -> dict[str, Any]:
    """One run of ``end_to_end`` on the first so many GPUs."""
    command = [
        sys.executable, "-m", "tests.benchmarks.end_to_end", "--preset", asked.preset,
        "--split", asked.split, "--steps", str(asked.steps),
        *(word for pair in asked.set for word in ("--set", pair)),
    ]  # fmt: skip
    seen = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(gpus)))}
    try:
        ran = subprocess.run(
            command, env={**os.environ, **seen}, stdout=subprocess.PIPE, timeout=asked.limit,
            check=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"gpus": gpus, "problem": f"not done after {asked.limit:g} s"}
    except subprocess.CalledProcessError as error:
        return {"gpus": gpus, "problem": f"ended with {error.returncode}"}
    return {"gpus": gpus, **json.loads(ran.stdout)}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="paper_4b")
    parser.add_argument("--split", default="5:3")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--gpus", default="1,2,4,8")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one run")
    parser.add_argument("--set", action="append", default=[], metavar="AXIS=PART")
    asked = parser.parse_args(arguments)
    wanted = [int(word) for word in asked.gpus.split(",")]
    there = visible()
    speeds = {}
    for gpus in (number for number in wanted if number <= there):
        run = measured(gpus, asked)
        print(json.dumps(run), flush=True)
        if run.get("summary"):
            speeds[gpus] = run["summary"]["draft_slots_per_s"]
    not_run = [number for number in wanted if number not in speeds]
    print(json.dumps({"speeds": speeds, "not_run": not_run, "fit": fitted(speeds)}))


def visible() -> int:
    """GPUs that torch sees, asked in another process: one that has seen them keeps them."""
    code = "import torch; print(torch.cuda.device_count())"
    ran = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    return int(ran.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
