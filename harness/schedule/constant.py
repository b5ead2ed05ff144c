"""One learning rate throughout."""

from __future__ import annotations

from fxrace.probe.part import Part


class Constant:
    """Always 1."""

    def factor(self, step: int, steps: int) -> float:  # noqa: ARG002 - nothing depends on them
        return 1.0


part = Part(build=Constant)
