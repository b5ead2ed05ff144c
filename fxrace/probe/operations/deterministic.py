"""``use_deterministic_algorithms`` on and off round a call."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def run(_: Any) -> Any:
    torch.use_deterministic_algorithms(True)
    inside = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(False)
    return inside, torch.are_deterministic_algorithms_enabled()


operation = Operation(run=run)
