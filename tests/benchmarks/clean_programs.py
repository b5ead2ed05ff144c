"""Small torch programs that have no race, made from a seed, and how often fxrace accuses one.

    python -m tests.benchmarks.clean_programs --count 200

Each program runs as a trial in a forked child under all hooks. A finding of tier T0 to T2 in any
of them is false, because each shape is clean by construction: one thread; threads that take one
lock round everything; threads one after the other; threads that only call what is warm, each its
own. Every result is compared with the same arithmetic uncompiled.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fxrace.records.trial import Limits, Trial

SHAPES = ("single", "locked", "one_by_one", "warm")
RACY = "racy"
BOUND_S = 60.0

Work = Callable[[random.Random], None]


def trials(count: int, *, first: int = 0) -> tuple[Trial, ...]:
    """``count`` clean programs, seeds from ``first`` on, the shapes in turn."""
    return tuple(
        Trial(
            target="clean_programs:run",
            knobs={"pressure": "none"},
            settings={"shape": SHAPES[seed % len(SHAPES)]},
            seed=seed,
            limits=Limits(trial_s=BOUND_S),
        )
        for seed in range(first, first + count)
    )


def racy_trial() -> Trial:
    """The red twin: two threads trace without a lock, held until they overlap."""
    return Trial(
        target="clean_programs:run",
        knobs={"pressure": "hold"},
        settings={"shape": RACY},
        limits=Limits(trial_s=BOUND_S),
    )


def run(trial: Any, recorder: Any) -> None:
    """The target: one program, by its shape and seed."""
    from torch._subclasses import FakeTensorMode

    recorder.emit("note", text=str(trial.settings["shape"]))
    with FakeTensorMode():
        pass  # on main, or torch 2.10 and 2.11 crash: dynamo-device-guard-of-ended-thread
    shape = {"single": _single, "locked": _locked, "one_by_one": _one_by_one, "warm": _warm}
    {**shape, RACY: _racy}[trial.settings["shape"]](random.Random(trial.seed))


def _single(rng: random.Random) -> None:
    for _ in range(rng.randint(2, 4)):
        rng.choice(WORKS)(rng)


def _locked(rng: random.Random) -> None:
    """Everything under one lock, the compiled calls included."""
    lock = threading.Lock()
    plans = [[rng.choice(WORKS) for _ in range(2)] for _ in range(rng.randint(2, 3))]

    def body(plan: Sequence[Work], own: random.Random) -> None:
        for work in plan:
            with lock:
                work(own)

    _together([(body, (plan, random.Random(rng.random()))) for plan in plans])


def _one_by_one(rng: random.Random) -> None:
    """Each thread ends before the next begins."""
    for _ in range(rng.randint(2, 3)):
        _together([(rng.choice(WORKS), (random.Random(rng.random()),))])


def _warm(rng: random.Random) -> None:
    """Compiled on main, one function per thread; the threads only call, at the same time."""
    import torch

    calls = []
    for _ in range(rng.randint(2, 3)):
        factor = rng.randint(2, 9)
        compiled = torch.compile(_scaled(factor), backend="eager")
        x = torch.ones(rng.randint(2, 6))
        compiled(x)
        calls.append((_call_often, (compiled, x, factor)))
    _together(calls)


def _call_often(compiled: Callable[[Any], Any], x: Any, factor: int) -> None:
    for _ in range(200):
        assert bool((compiled(x) == x * factor + 1).all())


def _racy(rng: random.Random) -> None:
    def body() -> None:
        from fxrace.probe.participants import participants

        with participants.taking_part(threading.current_thread().name):
            for _ in range(3):
                _trace(random.Random(0))

    _together([(body, ()), (body, ())])


def _together(calls: Sequence[tuple[Callable[..., None], tuple[Any, ...]]]) -> None:
    threads = [threading.Thread(target=body, args=arguments) for body, arguments in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)


def _scaled(factor: int) -> Callable[[Any], Any]:
    def scaled(x: Any) -> Any:
        return x * factor + 1

    return scaled


def _net(rng: random.Random) -> Any:
    import torch

    width = rng.randint(2, 5)
    return torch.nn.Sequential(
        torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 1)
    ), torch.ones(3, width)


def _trace(rng: random.Random) -> None:
    import torch

    net, x = _net(rng)
    assert torch.equal(torch.fx.symbolic_trace(net)(x), net(x))


def _make_fx(rng: random.Random) -> None:
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    scaled, x = _scaled(rng.randint(2, 9)), torch.ones(rng.randint(2, 6))
    assert torch.equal(make_fx(scaled)(x)(x), scaled(x))


def _compile(rng: random.Random) -> None:
    """A first compile, a warm call, and a recompile for another shape."""
    import torch

    scaled = _scaled(rng.randint(2, 9))
    compiled = torch.compile(scaled, backend=rng.choice(["eager", "aot_eager"]), dynamic=False)
    for size in (2, 2, rng.randint(3, 6)):
        x = torch.ones(size)
        assert torch.equal(compiled(x), scaled(x))


def _train(rng: random.Random) -> None:
    """A compiled step with a lazily compiled backward."""
    import torch

    net, x = _net(rng)
    compiled = torch.compile(net, backend="aot_eager")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        compiled(x).sum().backward()
        optimizer.step()


def _checkpoint(rng: random.Random) -> None:
    from torch.utils.checkpoint import checkpoint

    net, x = _net(rng)
    x.requires_grad_()
    checkpoint(net, x, use_reentrant=rng.random() < 0.5).sum().backward()
    assert x.grad is not None


def _eager(rng: random.Random) -> None:
    net, x = _net(rng)
    net(x).sum().backward()


WORKS: tuple[Work, ...] = (_trace, _make_fx, _compile, _train, _checkpoint, _eager)


def accusations(chosen: Sequence[Trial], directory: Path, *, jobs: int) -> dict[str, Any]:
    """Run the trials; findings by tier and pattern, and each accused or unfinished program."""
    from fxrace.core.detect import findings_in
    from fxrace.core.evidence import Evidence
    from fxrace.launch.executors.local import LocalExecutor
    from fxrace.launch.progress import Ended, Mode
    from fxrace.launch.record_file import EVENTS, read_trace
    from fxrace.launch.stopping import Stopping

    tiers: Counter[str] = Counter()
    accused: list[dict[str, Any]] = []
    ran, incomplete = 0, 0
    roots = (Path(__file__).parent,)
    with LocalExecutor(
        python=sys.executable, directory=directory, jobs=jobs, roots=roots, mode=Mode.FORK
    ) as executor:
        for moment in executor.run(chosen, stopping=Stopping()):
            if not isinstance(moment, Ended):
                continue
            trace = read_trace(moment.directory / EVENTS)
            evidence = Evidence(
                trial=moment.trial, trace=trace, ending=moment.ending, reference=None
            )
            ran += 1
            last = trace.last("phase")
            incomplete += last is None or last.data["name"] != "end"
            for finding in findings_in(evidence):
                tiers[finding.tier.value] += 1
                place = {"seed": moment.trial.seed, **moment.trial.settings}
                told = {"pattern": finding.pattern, "title": finding.title}
                accused.append({**place, "tier": finding.tier.value, **told})
    return {"ran": ran, "incomplete": incomplete, "tiers": dict(tiers), "findings": accused}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    began = time.monotonic()
    chosen = trials(given.count, first=given.first)
    with tempfile.TemporaryDirectory() as directory:
        found = accusations(chosen, Path(directory), jobs=given.jobs)
    found["duration_s"] = round(time.monotonic() - began, 1)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
