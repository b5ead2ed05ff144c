"""Every operation of a layer on its own, uncompiled: attention is all that is compiled."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from fxrace.probe.part import Part
from harness.config import Preset
from harness.model.drafter import Drafter


class Plain:
    """The drafter's own forward."""

    def hidden(
        self,
        drafter: Drafter,
        features: Tensor,
        noise: Tensor,
        anchors: Tensor,
        *,
        attend: Callable[..., Tensor],
        run_layer: Callable[..., Tensor],
    ) -> Tensor:
        out: Tensor = drafter(features, noise, anchors, attend=attend, run_layer=run_layer)
        return out


def build(preset: Preset) -> Plain:  # noqa: ARG001 - needs nothing of it
    return Plain()


part = Part(build=build)
