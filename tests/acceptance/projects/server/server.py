"""Answers requests with models that can be loaded while it runs."""

from contextlib import nullcontext

import torch


class Scale(torch.nn.Module):
    def __init__(self, by: float) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4, bias=False)
        torch.nn.init.constant_(self.linear.weight, by)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu()


class Server:
    def __init__(self) -> None:
        self.models: dict[str, torch.nn.Module] = {}
        self.lock = nullcontext()

    def load(self, name: str, by: float) -> None:
        with self.lock:
            self.models[name] = torch.fx.symbolic_trace(Scale(by))

    def infer(self, name: str, x: torch.Tensor) -> torch.Tensor:
        with self.lock, torch.no_grad():
            return self.models[name](x)
