"""Nothing: threads meet by chance, at stock settings."""

from __future__ import annotations

from fxrace.probe.part import Part
from fxrace.probe.recorder import Recorder


class NoPressure:
    """Does nothing at every call."""

    listens = False

    def start(self) -> None: ...

    def inside(self, region: str) -> None: ...

    def left(self, region: str) -> None: ...

    def called(self) -> None: ...

    def stop(self) -> None: ...


def build(recorder: Recorder, seed: str) -> NoPressure:  # noqa: ARG001 - every part is built so
    return NoPressure()


part = Part(build=build, default=True)
