"""The filters of ``warnings`` and what shows a warning."""

from __future__ import annotations

import warnings
from typing import Any

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    show = f"{warnings.showwarning.__module__}.{warnings.showwarning.__qualname__}"
    return {"filters": [str(one) for one in warnings.filters], "show": show}


operation = Operation(run=run, kind=Kind.OBSERVER)
