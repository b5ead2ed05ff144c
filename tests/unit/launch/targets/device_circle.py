"""The circle compile_lock <-> autograd's device thread, on a CPU, with torch's own parts.

Autograd hands a backward that is nested more than 60 deep to a thread of its pool, which plays
the device thread: the compiling thread holds ``compile_lock`` and waits for it in the engine, and
it stands before ``compile_lock`` because its own backward calls something not yet compiled.
With ``--open`` that call is left out and the program ends: the green twin.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import torch

DEPTH = 70
cold = torch.compile(lambda x: x * 3, backend="eager")


class Deep(torch.autograd.Function):
    """Runs another backward inside its own, ``depth`` times."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, depth: int) -> torch.Tensor:
        ctx.depth = depth
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        if ctx.depth:
            with torch.enable_grad():
                Deep.apply(torch.ones(2, requires_grad=True), ctx.depth - 1).sum().backward()
        elif "--open" not in sys.argv:
            cold(torch.ones(2))
        return grad, None


def backend(module: Any, inputs: Any) -> Any:
    print("up", flush=True)
    Deep.apply(torch.ones(2, requires_grad=True), DEPTH).sum().backward()
    return module.forward


if __name__ == "__main__":
    compiled = torch.compile(lambda x: x + 1, backend=backend)
    drafter = threading.Thread(target=compiled, args=(torch.ones(2),), name="drafter-0")
    drafter.start()
    drafter.join()
