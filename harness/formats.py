"""Number formats as a record, for the parts of axis ``precision``.

fp32 weights under bf16 activations would be cast again in every call; bf16 weights with fp32
masters compute the same products once cast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from harness.config import Preset
from harness.updates import Direct, Fused, Mastered

EXACT = (2e-3, 2e-2)
COARSE = (2e-2, 1e-1)
"""Relative, of loss and gradient norm, for two runs that differ in order of summation only: where
everything is fp32, and where anything is narrower.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Formats:
    """``on_cpu`` and ``elsewhere`` are (target, drafter) dtypes; ``masters`` keeps fp32 masters
    wherever the drafter's own weights are narrower.
    """

    on_cpu: tuple[torch.dtype, torch.dtype]
    elsewhere: tuple[torch.dtype, torch.dtype]
    masters: bool

    def tolerances(self, device_type: str) -> tuple[float, float]:
        wide = all(dtype is torch.float32 for dtype in self.dtypes(device_type))
        return EXACT if wide else COARSE

    def dtypes(self, device_type: str) -> tuple[torch.dtype, torch.dtype]:
        return self.on_cpu if device_type == "cpu" else self.elsewhere

    def target(self, target: Any) -> Any:
        return target

    def updates(self, module: nn.Module, preset: Preset) -> Direct:
        narrow = any(weight.dtype is not torch.float32 for weight in module.parameters())
        if not (self.masters and narrow):
            return Direct(module, preset)
        on_gpu = all(weight.is_cuda for weight in module.parameters())
        return (Fused if on_gpu else Mastered)(module, preset)


def alike(target: torch.dtype, drafter: torch.dtype, *, masters: bool) -> Formats:
    """The same formats on every device."""
    pair = (target, drafter)
    return Formats(on_cpu=pair, elsewhere=pair, masters=masters)
