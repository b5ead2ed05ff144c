"""Every switch of torch's C++ side that has both a getter and a setter."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def prepare() -> Any:
    found = {}
    for name in dir(torch._C):
        if name.startswith("_get_") and hasattr(torch._C, f"_set_{name[5:]}"):
            try:
                value = getattr(torch._C, name)()
            except TypeError:  # it takes arguments
                continue
            if isinstance(value, (bool, int, float, str)) and "thread" not in name:
                found[name[5:]] = getattr(torch._C, name)
    return found


def run(subject: Any) -> Any:
    return {name: get() for name, get in subject.items()}


operation = Operation(prepare=prepare, run=run, kind=Kind.OBSERVER)
