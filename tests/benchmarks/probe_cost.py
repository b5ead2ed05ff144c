"""What the probes cost: warm calls, training steps and compiles, probes on against off.

    OMP_NUM_THREADS=1 python -m tests.benchmarks.probe_cost

Prints one JSON document. On and off alternate in one process, in an order drawn per pair, and the
ratio on / off of each pair is what is summarised (median, 95 % bootstrap interval of the median).
Times are processor times of the calling thread, because other work on the machine would drown a
per cent of wall time. ``control`` is off against off: what the method calls equal.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from fxrace.probe.attach import attached
from fxrace.probe.recorder import Recorder
from fxrace.records.trial import Trial

SETTLE = 3
RESAMPLES, WARM_CALLS, PROFILED_CALLS = 2000, 300_000, 20_000
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


def net() -> torch.nn.Module:
    layers = [torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()) for _ in range(4)]
    return torch.nn.Sequential(*layers)


def often(work: Callable[[], Any], times: int) -> Timed:
    """Processor seconds of ``times`` calls, after a few that meet what the switching left cold."""

    def timed() -> float:
        for _ in range(SETTLE):
            work()
        began = time.thread_time()
        for _ in range(times):
            work()
        return time.thread_time() - began

    return timed


def calls(times: int) -> Timed:
    compiled, x = torch.compile(net(), backend="aot_eager"), torch.ones(8, 64)
    with torch.no_grad():
        compiled(x)

    def call() -> None:
        with torch.no_grad():
            compiled(x)

    return often(call, times)


def steps(times: int) -> Timed:
    """Compiled forward, compiled backward, optimizer."""
    model = net()
    compiled, x = torch.compile(model, backend="aot_eager"), torch.ones(8, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        compiled(x).sum().backward()
        optimizer.step()

    step()
    step()
    return often(step, times)


def compiles() -> float:
    """One compile of a fresh model, forward and backward."""
    torch._dynamo.reset()
    model, x = net(), torch.ones(8, 64)
    began = time.thread_time()
    torch.compile(model, backend="aot_eager")(x).sum().backward()
    return time.thread_time() - began


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
    medians = sorted(
        statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES)
    )
    return {
        "ratio": round(statistics.median(ratios), 4),
        "low": round(medians[int(0.025 * RESAMPLES)], 4),
        "high": round(medians[int(0.975 * RESAMPLES)], 4),
        "pairs": pairs,
        "off_s": round(statistics.median(plain), 4),
    }


def fired(probes: Probes) -> dict[str, Any]:
    """Events and entries into our code over warm calls, hooks on from before the compile.

    An entry need not be an extra call: torch's own functions may have had their code swapped.
    """
    entered: Counter[str] = Counter()

    def count(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and "/fxrace/probe/" in code.co_filename:
            entered[f"{Path(code.co_filename).stem}.{code.co_name}"] += 1

    probes.on()
    try:
        compiled, x = torch.compile(lambda y: y + 1, backend="eager"), torch.ones(2)
        compiled(x)
        before = probes.events()
        for _ in range(WARM_CALLS):
            compiled(x)
        events = probes.events() - before
        sys.setprofile(count)
        for _ in range(PROFILED_CALLS):
            compiled(x)
        sys.setprofile(None)
        warm = dict(entered)
        entered.clear()
        sys.setprofile(count)
        compiled(torch.ones(3))
        sys.setprofile(None)
    finally:
        probes.off()
    return {
        "warm_calls": WARM_CALLS,
        "events": events,
        "profiled_calls": PROFILED_CALLS,
        "entries_into_probe_code": warm,
        "entries_of_one_recompile": sum(entered.values()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--pairs", type=int, default=150, help="Of calls and steps; compiles take a fifth."
    )
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        probes = Probes(Path(folder))
        call, step = calls(100), steps(20)
        found = {
            "torch": torch.__version__,
            "python": sys.version.split()[0],
            "fired": fired(probes),
            "call": compared(call, given.pairs, rng, probes),
            "control": compared(call, given.pairs, rng, None),
            "step": compared(step, given.pairs, rng, probes),
            "compile": compared(compiles, max(4, given.pairs // 5), rng, probes),
        }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
