"""Forward-mode derivatives by hand: ``forward_ad.dual_level``."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        return forward_ad.unpack_dual(dual.sin()).tangent.clone()


operation = Operation(run=run)
