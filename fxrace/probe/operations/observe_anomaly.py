"""Anomaly mode."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


operation = Operation(run=run, kind=Kind.OBSERVER)
