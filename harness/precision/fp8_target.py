"""The frozen target's layers in fp8 (e4m3, one scale per matrix), everything else as bf16_masters.

Only a GPU has the matrix product; its compute capability must be 8.9 or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from fxrace.probe.part import Part
from harness.formats import Formats
from harness.model.layers import Linear

LARGEST = 448.0
"""The largest number of e4m3."""


class Fp8Linear(nn.Module):  # type: ignore[misc]
    """x @ W.T with both sides rounded to e4m3 by their largest magnitude."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        scale = weight.abs().amax().float().clamp_min(1e-12) / LARGEST
        self.register_buffer("weight", (weight.float() / scale).to(torch.float8_e4m3fn))
        self.register_buffer("scale", scale)

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(0, -2)
        scale = flat.abs().amax().float().clamp_min(1e-12) / LARGEST
        narrow = (flat.float() / scale).to(torch.float8_e4m3fn)
        out: Tensor = torch._scaled_mm(
            narrow, self.weight.t(), scale_a=scale, scale_b=self.scale, out_dtype=x.dtype
        )
        return out.unflatten(0, x.shape[:-1])


@dataclass(frozen=True, kw_only=True, slots=True)
class Fp8Target:
    """bf16 with fp32 masters, and a target whose layers multiply in fp8."""

    formats: Formats

    def tolerances(self, device_type: str) -> tuple[float, float]:
        return self.formats.tolerances(device_type)

    def dtypes(self, device_type: str) -> tuple[torch.dtype, torch.dtype]:
        return self.formats.dtypes(device_type)

    def target(self, target: Any) -> Any:
        """Replace every matrix of the layers; embedding and head are lent out and stay."""
        for layer in target.layers:
            for module in list(layer.modules()):
                for name, child in list(module.named_children()):
                    if isinstance(child, Linear):
                        setattr(module, name, Fp8Linear(child.weight))
        return target

    def updates(self, module: nn.Module, preset: Any) -> Any:
        return self.formats.updates(module, preset)


def build() -> Fp8Target:
    pair = (torch.bfloat16, torch.bfloat16)
    return Fp8Target(formats=Formats(on_cpu=pair, elsewhere=pair, masters=True))


def refuse(device_type: str) -> str | None:
    if device_type != "cuda":
        return "fp8 matrix products need a GPU"
    if torch.cuda.is_available() and torch.cuda.get_device_capability() < (8, 9):
        return "fp8 matrix products need compute capability 8.9 or more"
    return None


part = Part(build=build, refuse=refuse)
