"""Flags of the backends: precision, attention kernels, fused paths."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return {
        "precision": torch.get_float32_matmul_precision(),
        "tf32": torch.backends.cuda.matmul.allow_tf32,
        "cudnn": (torch.backends.cudnn.enabled, torch.backends.cudnn.benchmark),
        "mkldnn": torch.backends.mkldnn.enabled,
        "flash": torch.backends.cuda.flash_sdp_enabled(),
        "efficient": torch.backends.cuda.mem_efficient_sdp_enabled(),
        "math": torch.backends.cuda.math_sdp_enabled(),
        "fast path": torch.backends.mha.get_fastpath_enabled(),
        "nnpack": torch._C._get_nnpack_enabled(),
    }


operation = Operation(run=run, kind=Kind.OBSERVER)
