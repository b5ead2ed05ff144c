"""Three drafter threads, nothing forced: how many of 72 steps survive. Not part of CI.

``python -m tests.unit.guards.stress [GUARD ...]`` prints one JSON line per kind of flex_attention
(eager and compiled) for no guard and for each one named. Frequencies are no proof: the forced
schedules of this folder are.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from tests.unit.guards.parked import told

THREADS, STEPS = 3, 24


def _step(attend: Any, size: int, *, reentrant: bool) -> None:
    q, k, v = (torch.randn(1, 2, size, 16, requires_grad=True) for _ in range(3))
    layer = torch.nn.Linear(16, 16)

    def body(q: Any, k: Any, v: Any) -> Any:
        return layer(attend(q, k, v)).square().mean()

    checkpoint(body, q, k, v, use_reentrant=reentrant).backward()


def survived(*, compiled: bool) -> dict[str, Any]:
    """One round of 72 steps in this process."""
    from torch.nn.attention import flex_attention as module

    module._validate_device = lambda *_: None  # it refuses gradients on a CPU, and only here
    flex = module.flex_attention
    attend = torch.compile(flex, backend="aot_eager") if compiled else flex
    errors: Counter[str] = Counter()
    done: list[int] = []

    def drafter(number: int) -> None:
        for step in range(STEPS):
            try:
                _step(attend, 128 * (1 + (step + number) % 3), reentrant=compiled)
                done.append(1)
            except Exception as error:
                errors[told(error)[:90]] += 1

    threads = [threading.Thread(target=drafter, args=(n,), daemon=True) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    hangs = sum(thread.is_alive() for thread in threads)
    return {"steps": len(done), "of": THREADS * STEPS, "hung": hangs, "errors": errors}


def eager_flex() -> list[str]:
    return [json.dumps(survived(compiled=False))]


def compiled_flex() -> list[str]:
    return [json.dumps(survived(compiled=True))]


def main() -> None:
    from tests.unit.guards import forked

    forked.LIMIT_S = 400.0
    for kind in ("eager_flex", "compiled_flex"):
        for names in ((), *((name,) for name in sys.argv[1:])):
            (found,) = forked.outcome(kind, names, module="stress")
            row = json.loads(found) if found.startswith("{") else {"failed": found}
            print(json.dumps({"torch": torch.__version__, "flex": kind, "guards": names, **row}))


if __name__ == "__main__":
    main()
