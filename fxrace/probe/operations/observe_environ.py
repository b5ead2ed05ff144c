"""The environment of the process."""

from __future__ import annotations

import os
from typing import Any

from fxrace.probe.operations import Kind, Operation


def run(_: Any) -> Any:
    return dict(os.environ)


operation = Operation(run=run, kind=Kind.OBSERVER)
