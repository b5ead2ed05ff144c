"""Compiles a product for the CPU through Inductor, on main in the warm-up and then on a thread.

Nothing but products, which are calls into ATen: no C++ compiler is needed, and none waited for.
Prints what Inductor's cache said to either, and the notes. With an argument there is no warm-up:
the cache is shared instead.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import torch

from harness.compile_caches import share
from harness.warmup.compile_cache import CompileCache


class Notes:
    """In the recorder's place."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def emit(self, kind: str, *, text: str) -> None:
        self.texts.append(text)


class Compiles:
    """A drafter with one compiled function per row length, forward and backward."""

    drafter = 0

    def __init__(self) -> None:
        self._made = torch.compile(lambda x, y: x @ y, dynamic=False)

    def rehearse(self, context: int) -> None:
        x, y = (torch.ones(context, context, requires_grad=True) for _ in range(2))
        self._made(x, y).backward(torch.ones(context, context))


def main() -> None:
    notes: Any = Notes()
    drafter = Compiles()
    if sys.argv[1:]:
        share(notes)
    else:
        CompileCache(recorder=notes).before_threads([drafter], (8, 16))
    before = counted()
    thread = threading.Thread(target=lambda: [drafter.rehearse(n) for n in (8, 16)])
    thread.start()
    thread.join()
    after = {name: count - before[name] for name, count in counted().items()}
    print(json.dumps({"warmup": before, "thread": after, "notes": notes.texts}))


def counted() -> dict[str, int]:
    said = torch._dynamo.utils.counters["inductor"]
    return {name: said.get(f"fxgraph_cache_{name}", 0) for name in ("hit", "miss")}


if __name__ == "__main__":
    main()
