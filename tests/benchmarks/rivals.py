"""fxrace, frontrun and pytest-run-parallel on one race: two ``symbolic_trace`` calls at once.

``python tests/benchmarks/rivals.py --python PATH`` prints one JSON document: for each tool the time
to find the race (importing torch included), how often it comes back when asked to replay, how
many entries the schedule has that it hands out, and whether its report names the State at fault.
PATH is an interpreter that has torch, frontrun 0.7 and pytest-run-parallel 0.10; it is kept apart
from fxrace's own so that nobody's plugin takes part in anybody else's run. The surprise: a tool
that can not replay is measured by running it again from scratch.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT_S = 600
STATE = "CURRENT_PATCHER"

RACE = '''
import torch
from torch.fx import symbolic_trace
import torch.fx._symbolic_trace as fx

class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(x).relu()

CALL, GETATTR = torch.nn.Module.__call__, torch.nn.Module.__getattr__
GRAPH = str(symbolic_trace(Small()).graph)

def healed():
    """Rivals run on in a poisoned process; give each of their schedules a fair start."""
    torch.nn.Module.__call__ = CALL
    torch.nn.Module.__getattr__ = GETATTR
    fx._is_fx_tracing_flag, fx.CURRENT_PATCHER = False, None
    return []

def clean():
    flag = getattr(fx, "_is_fx_tracing_flag", False)
    return torch.nn.Module.__call__ is CALL and not flag and fx.CURRENT_PATCHER is None
'''

FRONTRUN = (
    RACE
    + """
import json, time
from frontrun import explore_random

def traced(state):
    try:
        state.append(str(symbolic_trace(Small()).graph) == GRAPH)
    except Exception as error:
        state.append(type(error).__name__)

began = time.monotonic()
found = explore_random(
    setup=healed, threads=[traced, traced], seed=SEED, max_attempts=100, max_ops=400_000,
    timeout_per_run=60.0, total_timeout=300.0, trace_packages=["torch.fx.*"],
    invariant=lambda state: state == [True, True] and clean(), reproduce_on_failure=10,
)
told = str(found.explanation or "")
print(json.dumps({
    "found": found.property_holds is False, "search_s": time.monotonic() - began,
    "schedules": found.num_explored,
    "replayed": [found.reproduction_successes, found.reproduction_attempts],
    "schedule_entries": len(found.counterexample or ()),
    "report_lines": told.count("\\n") + 1, "names_the_state": "CURRENT_PATCHER" in told,
}))
"""
)

RUN_PARALLEL = (
    RACE
    + """
def test_trace():
    assert str(symbolic_trace(Small()).graph) == GRAPH and clean()
"""
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--python", required=True)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--replays", type=int, default=1000)
    chosen = options.parse_args()
    tools: dict[str, Callable[[int], dict[str, Any]]] = {
        "fxrace": lambda _: fxrace(chosen.replays),
        "frontrun": lambda seed: frontrun(chosen.python, seed),
        "pytest-run-parallel": lambda _: run_parallel(chosen.python),
    }
    # Interleaved, so that a busy minute of the machine is nobody's alone.
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in tools}
    for seed in range(chosen.runs):
        for name, tool in tools.items():
            runs[name].append(tool(seed))
            print(name, json.dumps(runs[name][-1]), file=sys.stderr, flush=True)
    print(json.dumps({name: summary(each) for name, each in runs.items()}, indent=2))


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over the runs that found it, and how many did."""
    hits = [run for run in runs if run["found"]]
    replays = [run["replayed"] for run in hits]
    return {
        "found": [len(hits), len(runs)],
        "wall_s": round(statistics.median(run["wall_s"] for run in runs), 2),
        "replayed": [sum(k for k, _ in replays), sum(n for _, n in replays)],
        "schedule_entries": statistics.median_low([r["schedule_entries"] for r in hits] or [0]),
        "report_lines": statistics.median_low([run["report_lines"] for run in hits] or [0]),
        "names_the_state": [sum(run["names_the_state"] for run in hits), len(hits)],
    }


def fxrace(replays: int) -> dict[str, Any]:
    """Explore the pair exhaustively at two preemptions, then replay the first cause's token."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        told = _run(
            sys.executable, "-m", "fxrace", "explore", "symbolic_trace", "symbolic_trace",
            "--bound", "2", "--json", "--output", folder,
        )  # fmt: skip
        wall_s = time.monotonic() - began
        document = json.loads(told.stdout)
        causes = document["findings"]
        if not causes:
            return {"found": False, "wall_s": wall_s}
        again = _run(
            sys.executable, "-m", "fxrace", "replay", causes[0]["token"], "--repeat", str(replays),
            "--json", "--output", folder,
        )  # fmt: skip
        same = json.loads(again.stdout)["reproduced"]
        return {
            "found": True, "wall_s": wall_s, "schedules": document["pairs"][0]["schedules"],
            "replayed": [same["k"], same["n"]], "schedule_entries": len(causes[0]["token"]),
            "report_lines": len(json.dumps(causes[0], indent=1).splitlines()),
            "names_the_state": STATE in json.dumps(causes[0]) or "patcher" in causes[0]["state"],
        }  # fmt: skip


def frontrun(python: str, seed: int) -> dict[str, Any]:
    """Its random strategy, told where to look; it replays its counterexample ten times."""
    began = time.monotonic()
    ran = _run(
        str(Path(python).with_name("frontrun")), python, "-c", FRONTRUN.replace("SEED", str(seed))
    )
    wall_s = time.monotonic() - began
    lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"found": False, "wall_s": wall_s, "problem": ran.stderr[-300:]}
    return {**json.loads(lines[-1]), "wall_s": wall_s}


def run_parallel(python: str) -> dict[str, Any]:
    """Two threads, a hundred rounds. It keeps no schedule, so its replay is another run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test_race.py"
        path.write_text(RUN_PARALLEL)
        command = (
            python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--parallel-threads=2",
            "--iterations=100", str(path),
        )  # fmt: skip
        began = time.monotonic()
        first = _run(*command)
        wall_s = time.monotonic() - began
        again = _run(*command)
    told = re.search(r"=+ (?:FAILURES|ERRORS) =+(.*)", first.stdout, re.S)
    return {
        "found": first.returncode == 1, "wall_s": wall_s,
        "replayed": [int(again.returncode == 1), 1], "schedule_entries": 0,
        "report_lines": len(told[1].splitlines()) if told else 0,
        "names_the_state": bool(told) and STATE in told[1],
    }  # fmt: skip


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_S,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


if __name__ == "__main__":
    main()
