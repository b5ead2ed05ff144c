"""Whether distributions and sparse tensors check their arguments."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return {
        "distributions": torch.distributions.Distribution._validate_args,
        "sparse": torch.sparse.check_sparse_tensor_invariants.is_enabled(),
        "debug": __debug__,
    }


operation = Operation(run=run, kind=Kind.OBSERVER)
