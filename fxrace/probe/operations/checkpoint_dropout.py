"""``checkpoint`` of a dropout, with the random state kept."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.ones(8, requires_grad=True)


def run(subject: Any) -> Any:
    out = checkpoint(lambda x: torch.dropout(x, 0.5, True), subject, use_reentrant=False)
    (gradient,) = torch.autograd.grad(out.sum(), subject)
    return {"the gradient has the mask of the forward": torch.equal(gradient, out.detach())}


operation = Operation(prepare=prepare, run=run)
