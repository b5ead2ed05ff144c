"""Arguments of a distribution validated, and its log-probability."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    normal = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
    return normal.log_prob(torch.ones(2))


operation = Operation(run=run)
