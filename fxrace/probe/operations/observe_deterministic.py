"""Flags on deterministic algorithms."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return {
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "warn only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "fill": torch.utils.deterministic.fill_uninitialized_memory,
        "debug mode": torch.get_deterministic_debug_mode(),
    }


operation = Operation(run=run, kind=Kind.OBSERVER)
