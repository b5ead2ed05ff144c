"""What the probes cost: warm calls, training steps and compiles, probes on against off.

    OMP_NUM_THREADS=1 python -m tests.benchmarks.probe_cost --out reports/2026-11-30-probe-cost

Prints one JSON document, and with ``--out`` writes it there beside a README. On and off alternate
in one process, in an order drawn per pair; the ratio on / off of each pair is what is summarised
(median, 95 % bootstrap interval of the median). A block of calls counts as its lower quartile,
in processor time of the calling thread (on a GPU in wall time with a synchronisation per step):
other work on the machine makes calls slower and never faster. ``control`` is off against off:
what the method calls equal.

A compile differs from the next by more than the probes cost, so ``compile`` has a bound beside
its ratio: how often it enters our code, which is a count, times what each entry costs alone.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from fxrace.probe.attach import attached
from fxrace.probe.recorder import Recorder
from fxrace.records.trial import Trial
from tests.benchmarks.probe_entries import bound, fired

SETTLE, RESAMPLES = 5, 2000
CALLS_IN_BLOCK, STEPS_IN_BLOCK = 60, 20
TRIAL = Trial(target="benchmark:none", knobs={"pressure": "none"})
Timed = Callable[[], float]


class Probes:
    """All hooks of a trial, on or off, writing to a file whose lines can be counted."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "events.jsonl"
        self._recorder = Recorder(self.path)
        self._on = ExitStack()

    def on(self) -> None:
        self._on.enter_context(attached(TRIAL, self._recorder))

    def off(self) -> None:
        self._on.close()

    def events(self) -> int:
        return self.path.read_bytes().count(b"\n")


def net(device: str = "cpu") -> torch.nn.Module:
    layers = [torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()) for _ in range(4)]
    return torch.nn.Sequential(*layers).to(device)


def clock(device: str) -> Callable[[], float]:
    """Seconds of this thread's processor; on a GPU seconds of the wall, its queue drained."""
    if device == "cpu":
        return time.thread_time

    def drained() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return drained


def block(work: Callable[[], Any], times: int, now: Callable[[], float]) -> Timed:
    """The lower quartile of ``times`` runs, after a few that meet what the switching left cold."""

    def timed() -> float:
        for _ in range(SETTLE):
            work()
        took = []
        for _ in range(times):
            began = now()
            work()
            took.append(now() - began)
        return statistics.quantiles(took, n=4)[0]

    return timed


def warm_call(device: str) -> Callable[[], Any]:
    compiled, x = torch.compile(net(device), backend="aot_eager"), torch.ones(8, 64, device=device)

    def call() -> None:
        with torch.no_grad():
            compiled(x)

    call()
    return call


def training_step(device: str, *, recomputed: bool) -> Callable[[], Any]:
    """Compiled forward, compiled backward, optimizer; or eager layers under checkpoints."""
    model, x = net(device), torch.ones(8, 64, device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    compiled = torch.compile(model, backend="aot_eager")

    def forward() -> Any:
        if not recomputed:
            return compiled(x)
        return checkpoint(model, x, use_reentrant=False)

    def step() -> None:
        optimizer.zero_grad()
        forward().sum().backward()
        optimizer.step()

    step()
    step()
    return step


def compile_once(device: str) -> None:
    """One compile of a fresh model, forward and backward."""
    torch._dynamo.reset()
    compiled = torch.compile(net(device), backend="aot_eager")
    compiled(torch.ones(8, 64, device=device)).sum().backward()


def compiles(device: str) -> Timed:
    def timed() -> float:
        now = clock(device)
        began = now()
        compile_once(device)
        return now() - began

    return timed


def compared(timed: Timed, pairs: int, rng: random.Random, switch: Probes | None) -> dict[str, Any]:
    """Ratio of the time with probes to the time without; ``switch`` None compares off with off."""

    def measured(probed: bool) -> float:
        if not probed or switch is None:
            return timed()
        switch.on()
        try:
            return timed()
        finally:
            switch.off()

    timed()
    ratios, plain = [], []
    for _ in range(pairs):
        order = [True, False]
        rng.shuffle(order)
        took = {probed: measured(probed) for probed in order}
        ratios.append(took[True] / took[False])
        plain.append(took[False])
    low, high = interval(ratios, rng)
    return {
        "ratio": round(statistics.median(ratios), 4),
        "low": low,
        "high": high,
        "pairs": pairs,
        "off_s": round(statistics.median(plain), 7),
    }


def interval(ratios: Sequence[float], rng: random.Random) -> tuple[float, float]:
    """The 95 % bootstrap interval of the median."""
    medians = sorted(
        statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES)
    )
    return round(medians[int(0.025 * RESAMPLES)], 4), round(medians[int(0.975 * RESAMPLES)], 4)


def events_of(probes: Probes, work: Callable[[], Any], times: int = 20) -> float:
    """Events that one warm run leaves."""
    probes.on()
    try:
        work()
        before = probes.events()
        for _ in range(times):
            work()
        return (probes.events() - before) / times
    finally:
        probes.off()


def measured(device: str, pairs: int, rng: random.Random, folder: Path) -> dict[str, Any]:
    probes, now = Probes(folder), clock(device)
    step, recomputed = (training_step(device, recomputed=each) for each in (False, True))
    call = block(warm_call(device), CALLS_IN_BLOCK, now)

    def steps(work: Callable[[], Any], switch: Probes | None) -> dict[str, Any]:
        return compared(block(work, STEPS_IN_BLOCK, now), pairs, rng, switch)

    cold = compared(compiles(device), max(4, pairs // 10), rng, probes)
    return {
        "device": torch.cuda.get_device_name() if device == "cuda" else device,
        "torch": torch.__version__,
        "python": sys.version.split()[0],
        "fired": fired(probes),
        "call": compared(call, pairs, rng, probes),
        "step": {**steps(step, probes), "events": events_of(probes, step)},
        "control": steps(step, None),
        "recomputed_step": {**steps(recomputed, probes), "events": events_of(probes, recomputed)},
        "compile": {**cold, "bound": bound(probes, lambda: compile_once(device), cold["off_s"])},
    }


ROWS = (
    ("call", "warm compiled call"), ("step", "warm training step"), ("control", "off against off"),
    ("recomputed_step", "warm step under a checkpoint"), ("compile", "compile"),
)  # fmt: skip


def readme(found: dict[str, Any]) -> str:
    lines = [
        "# What the probes cost", "",
        f"torch {found['torch']}, Python {found['python']}, {found['device']}; made by "
        "`python -m tests.benchmarks.probe_cost`. Interleaved pairs, 95 % intervals.",
        "", "| | on / off | interval | pairs | off |", "|--|--|--|--|--|",
    ]  # fmt: skip
    for key, name in ROWS:
        one = found[key]
        lines.append(
            f"| {name} | {one['ratio']:.3f} | {one['low']:.3f} to {one['high']:.3f} "
            f"| {one['pairs']} | {one['off_s'] * 1e6:.0f} us |"
        )
    most, hooks = found["compile"]["bound"], found["fired"]
    lines += [
        "",
        f"A compile enters our code {most['entries']} times and leaves {most['events']} events; "
        f"each priced alone, that is {most['cost_s'] * 1e3:.2f} ms or {most['share']:.2%} of it.",
        "", f"{hooks['warm_calls']} warm calls left {hooks['events']} events.", "",
    ]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=300, help="Compiles take a tenth.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        found = measured(given.device, given.pairs, random.Random(given.seed), Path(folder))
    text = json.dumps(found, indent=2)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / f"{given.device}.json").write_text(text + "\n")
        (given.out / "README.md").write_text(readme(found))
    print(text)


if __name__ == "__main__":
    main()
