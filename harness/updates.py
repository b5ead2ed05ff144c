"""AdamW with clipping, over the module's own weights or over fp32 masters of them.

Masters matter where weights are bf16: an update smaller than 1/256 of a weight vanishes when it
is added in bf16. The masters take the gradient, and the module gets their rounded values back.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from harness.config import Preset


class Direct:
    """The optimizer works on the weights themselves, in whatever format they have."""

    def __init__(self, module: nn.Module, preset: Preset) -> None:
        self._module = list(module.parameters())
        self.parameters = self._masters()
        self._peak, self._clip = preset.learning_rate, preset.clip_norm
        self._build(preset)

    def _build(self, preset: Preset) -> None:
        self._optimizer = torch.optim.AdamW(
            self.parameters, lr=preset.learning_rate, weight_decay=preset.weight_decay
        )

    def _masters(self) -> list[Tensor]:
        return self._module

    def gradients(self) -> list[Tensor]:
        """The module's gradients; raises RuntimeError where backward left one out."""
        found = [weight.grad for weight in self._module]
        if any(gradient is None for gradient in found):
            raise RuntimeError("backward left a weight without gradient")
        return found

    def apply(self, factor: float) -> Tensor:
        norm: Tensor = nn.utils.clip_grad_norm_(self.parameters, self._clip)
        for group in self._optimizer.param_groups:
            group["lr"] = self._peak * factor
        self._optimizer.step()
        self.drop()
        return norm.float()

    def publish(self) -> None: ...

    def drop(self) -> None:
        for weight in self._module:
            weight.grad = None


class Mastered(Direct):
    """fp32 masters of a module in a narrower format; gradients are widened before clipping."""

    def _masters(self) -> list[Tensor]:
        return [weight.detach().float().requires_grad_() for weight in self._module]

    def gradients(self) -> list[Tensor]:
        for master, gradient in zip(self.parameters, super().gradients(), strict=True):
            if master.grad is None:
                master.grad = gradient.float()
        return [master.grad for master in self.parameters]

    def apply(self, factor: float) -> Tensor:
        self.gradients()
        norm = super().apply(factor)
        self.publish()
        return norm

    def publish(self) -> None:
        with torch.no_grad():
            torch._foreach_copy_(self._module, list(self.parameters))

    def drop(self) -> None:
        super().drop()
        for master in self.parameters:
            master.grad = None


class Fused(Mastered):
    """The same in one kernel per weight, which takes the gradient as narrow as it is."""

    def _build(self, preset: Preset) -> None:
        # Triton is where CUDA is, and nowhere else.
        from harness.kernels.fused_adamw import Moments, Rule

        rule = Rule(weight_decay=preset.weight_decay)
        with torch.no_grad():
            self._moments = Moments(self.parameters, self._module, rule)

    def apply(self, factor: float) -> Tensor:
        wide = [master.grad for master in self.parameters]
        gradients = Direct.gradients(self) if wide[0] is None else wide
        with torch.no_grad():
            norms = torch._foreach_norm(gradients, 2, torch.float32)
            norm: Tensor = torch.linalg.vector_norm(torch.stack(norms))
            scale = (self._clip / (norm + 1e-6)).clamp(max=1.0)
            self._moments.update(gradients, scale, self._peak * factor)
        self.drop()
        return norm
