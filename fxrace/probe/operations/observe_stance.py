"""The stance of ``torch.compile``."""

from __future__ import annotations

from typing import Any

from torch._dynamo import eval_frame

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return eval_frame._stance.stance


operation = Operation(run=run, kind=Kind.OBSERVER)
