"""The first call of a compiled ``flex_attention`` with a score function."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.attention.flex_attention import flex_attention

from fxrace.probe.operations import Cost, Operation, Reuse


def prepare() -> Any:
    def function(q: Any) -> Any:
        return flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score + (i - j))

    function.__code__ = function.__code__.replace()
    return torch.compile(function, backend="aot_eager", fullgraph=True), torch.ones(1, 1, 16, 16)


def run(subject: Any) -> Any:
    compiled, q = subject
    return compiled(q)


operation = Operation(prepare=prepare, run=run, reuse=Reuse.FRESH, cost=Cost.EXPENSIVE)
