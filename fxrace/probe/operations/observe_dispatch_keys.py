"""The dispatch keys that this thread includes and excludes."""

from __future__ import annotations

from typing import Any

import torch

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return str(torch._C._dispatch_tls_local_include_set()), str(
        torch._C._dispatch_tls_local_exclude_set()
    )


operation = Operation(run=run, kind=Kind.OBSERVER)
