"""A warning of torch's, caught with ``warnings.catch_warnings``."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from fxrace.probe.operations import Operation


def prepare() -> Any:
    return torch.nn.Softmax()


def run(subject: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        subject(torch.ones(2))
        warnings.warn("one of our own", stacklevel=1)
    return [str(one.message)[:30] for one in caught]


operation = Operation(prepare=prepare, run=run)
