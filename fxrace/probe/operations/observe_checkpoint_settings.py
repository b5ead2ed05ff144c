"""The settings of activation checkpointing."""

from __future__ import annotations

from typing import Any

from torch.utils import checkpoint

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return {
        "early stop": checkpoint._enable_checkpoint_early_stop,
        "debug": checkpoint._checkpoint_debug_enabled,
        "device": checkpoint.DefaultDeviceType.get_device_type(),
    }


operation = Operation(run=run, kind=Kind.OBSERVER)
