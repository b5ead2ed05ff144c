"""Planted: the right output, and half of the keys' gradient. No other thread is needed for it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fxrace.probe.part import Part
from harness.attention.dense import Dense, DensePlan


class WrongKeys(Dense):
    def attend(self, q: Tensor, k: Tensor, v: Tensor, plan: DensePlan) -> Tensor:
        return super().attend(q, (k + k.detach()) / 2, v, plan)


def _build(_device: torch.device, _drafter: int, _counters: Any) -> WrongKeys:
    return WrongKeys()


part = Part(build=_build)
