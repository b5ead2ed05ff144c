"""Grad, inference and multithreading modes."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return {
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "view replay": torch._C._is_view_replay_enabled(),
        "multithreading": torch._C._is_multithreading_enabled(),
        "forward ad": torch._C._is_fwd_grad_enabled(),
    }


operation = Operation(run=run, kind=Kind.OBSERVER)
