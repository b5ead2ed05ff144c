"""How often torch's work enters our code, and what an entry costs alone: counts times prices.

Counts do not depend on what else the machine does, and a price is the least of many rounds, so the
product tells a cost far below what two timings of a compile could tell apart.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from fxrace.probe.pressure.none import NoPressure
from fxrace.probe.recorder import Recorder
from fxrace.probe.regions import Regions
from fxrace.probe.spans import Spans

WARM_CALLS, PROFILED_CALLS = 300_000, 20_000
ROUNDS, IN_ROUND = 30, 200
#: Frames over a region of a compile: the stack that it records is part of its price.
DEPTH = 60


def counted(work: Callable[[], Any]) -> Counter[str]:
    """Entries into our code during ``work``, by function.

    An entry need not be an extra call: torch's own functions may have had their code swapped.
    """
    entered: Counter[str] = Counter()

    def count(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and "/fxrace/probe/" in code.co_filename:
            entered[f"{Path(code.co_filename).stem}.{code.co_name}"] += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return entered


def fired(probes: Any) -> dict[str, Any]:
    """Events and entries over warm calls, hooks on from before the compile."""
    probes.on()
    try:
        compiled, x = torch.compile(lambda y: y + 1, backend="eager"), torch.ones(2)
        compiled(x)
        before = probes.events()
        for _ in range(WARM_CALLS):
            compiled(x)
        events = probes.events() - before
        warm = counted(lambda: [compiled(x) for _ in range(PROFILED_CALLS)])
        cold = counted(lambda: compiled(torch.ones(3)))
    finally:
        probes.off()
    return {
        "warm_calls": WARM_CALLS,
        "events": events,
        "profiled_calls": PROFILED_CALLS,
        "entries_into_probe_code": dict(warm),
        "entries_of_one_recompile": sum(cold.values()),
    }


def bound(probes: Any, work: Callable[[], Any], takes_s: float) -> dict[str, Any]:
    """What the probes cost in one compile: regions, spans and every other entry at its price.

    Inside a region or a span the calls of our own are part of its price and are counted once more
    as entries: the sum errs on the high side.
    """
    probes.on()
    try:
        work()
        before = probes.events()
        entries = counted(work)
        events = probes.events() - before
    finally:
        probes.off()
    prices = priced(probes.path.with_name("priced.jsonl"))
    regions, spans = entries["regions.region"] // 2, entries["spans.enter"]
    whole = sum(entries.values())
    cost_s = regions * prices["region_s"] + spans * prices["span_s"] + whole * prices["entry_s"]
    return {
        "entries": whole,
        "events": events,
        "regions": regions,
        "spans": spans,
        **{name: round(price, 9) for name, price in prices.items()},
        "cost_s": round(cost_s, 7),
        "share": round(cost_s / takes_s, 5),
    }


def priced(path: Path) -> dict[str, float]:
    """Seconds of a recorded region with its stack, of an unrecorded span, and of a bare wrapper."""
    recorder = Recorder(path)
    regions, spans = Regions(recorder, NoPressure()), Spans(recorder, "priced")

    def region() -> None:
        with regions.region("priced", "priced"):
            pass

    def span() -> None:
        spans.enter("priced")
        spans.leave()

    def bare(*args: Any, **kwargs: Any) -> Any:
        return called(*args, **kwargs)

    def called(*args: Any, **kwargs: Any) -> None:
        return None

    def deep(work: Callable[[], Any], left: int) -> float:
        return deep(work, left - 1) if left else least(work)

    found = {
        "region_s": deep(region, DEPTH), "span_s": least(span), "entry_s": least(lambda: bare(1)),
    }  # fmt: skip
    recorder.close()
    return found


def least(work: Callable[[], Any]) -> float:
    """Seconds of one run: the quickest of several rounds."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.thread_time()
        for _ in range(IN_ROUND):
            work()
        rounds.append((time.thread_time() - began) / IN_ROUND)
    return min(rounds)
