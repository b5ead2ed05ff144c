"""What Dynamo has in place of the interpreter's frame evaluation, in this thread."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return str(torch._C._dynamo.eval_frame.get_eval_frame_callback())


operation = Operation(run=run, kind=Kind.OBSERVER)
