"""The frozen target's layers in fp8 (e4m3, a scale per row), everything else as bf16_masters.

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
from harness.parts import PartBroken

E4M3 = torch.float8_e4m3fn


class Fp8Linear(nn.Module):  # type: ignore[misc]
    """x @ W.T + b with every row of x and W rounded to e4m3 by its largest magnitude."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self._narrowed = narrowed
        if weight.is_cuda:
            from harness.kernels import inference  # Triton is there where GPUs are

            self._narrowed = inference.narrowed
        # On a GPU this also compiles the kernel for rows this long, before any thread needs it.
        narrow, scale = self._narrowed(weight.detach())
        self.register_buffer("weight", narrow)
        self.register_buffer("scale", scale.t().contiguous())
        self.register_buffer("bias", None if bias is None else bias.detach())

    def forward(self, x: Tensor) -> Tensor:
        narrow, scale = self._narrowed(x.flatten(0, -2).contiguous())
        out: Tensor = torch._scaled_mm(
            narrow, self.weight.t(), scale_a=scale, scale_b=self.scale, out_dtype=x.dtype,
            use_fast_accum=True,
        )  # fmt: skip
        if self.bias is not None:
            out += self.bias
        return out.unflatten(0, x.shape[:-1])


def narrowed(rows: Tensor) -> tuple[Tensor, Tensor]:
    """[m, k] -> the same in e4m3, and what each row was divided by, fp32 [m, 1]."""
    scale = rows.abs().amax(dim=1, keepdim=True).float().clamp_min(1e-12) / torch.finfo(E4M3).max
    return (rows.float() / scale).to(E4M3), scale


@dataclass(frozen=True, kw_only=True, slots=True)
class Fp8Target:
    """bf16 with fp32 masters, and a target whose layers multiply in fp8."""

    formats: Formats
    target_speed: float = 2.0
    """Of every GPU that has the product; see NVIDIA's data sheets of Ada, Hopper and Blackwell."""

    def tolerances(self, device_type: str) -> tuple[float, float]:
        return self.formats.tolerances(device_type)

    def dtypes(self, device_type: str) -> tuple[torch.dtype, torch.dtype]:
        return self.formats.dtypes(device_type)

    def target(self, target: Any) -> Any:
        """Replace every matrix of the layers; embedding and head are lent out and stay.

        Raises PartBroken where a target of the user's has no matrix that is known for one.
        """
        found = [
            (module, name, child)
            for layer in target.layers
            for module in layer.modules()
            for name, child in module.named_children()
            if isinstance(child, (Linear, nn.Linear))
        ]
        if not found:
            raise PartBroken("precision", "fp8_target", "this target's layers hold no nn.Linear")
        for module, name, child in found:
            setattr(module, name, Fp8Linear(child.weight, getattr(child, "bias", None)))
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
