"""Attributes of ``nn.Module`` itself, functions by where their code is."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    found = list(vars(torch.nn.Module).items())
    codes = [(name, getattr(value, "__code__", None)) for name, value in found]
    return {name: code and (code.co_name, code.co_firstlineno) for name, code in codes}


operation = Operation(run=run, kind=Kind.OBSERVER, quick=True)
