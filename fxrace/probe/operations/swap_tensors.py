"""``load_state_dict(assign=True)`` under ``torch.__future__``'s swapping of tensors."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.nn.Linear(2, 2), {"weight": torch.ones(2, 2), "bias": torch.zeros(2)}


def run(subject: Any) -> Any:
    module, weights = subject
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    module.load_state_dict(weights)
    torch.__future__.set_swap_module_params_on_conversion(before)
    return module


operation = Operation(prepare=prepare, run=run)
