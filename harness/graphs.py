"""Running a piece of work live, or as a CUDA graph with static buffers.

The work is a drafter's forward and backward, or a target's forward.

A replay runs no Python: no trace, no compile and no lock of the loop happens in it, which is why
it may only begin once everything it needs is compiled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

Work = Callable[..., tuple[Tensor, ...]]
LIVE_FIRST = 2
"""Steps of a shape that run live: the first compiles, the second shows that nothing is left."""
_CAPTURING = threading.Lock()


def needs_cuda(device_type: str) -> str | None:
    """The refusal of parts that capture."""
    return None if device_type == "cuda" else "CUDA graphs need a GPU"


class Live:
    """Calls the work. ``mode`` is for ``torch.compile``."""

    def __init__(self, mode: str | None) -> None:
        self.mode = mode

    def run(
        self,
        key: tuple[Any, ...],  # noqa: ARG002 - every shape alike
        inputs: tuple[Tensor, ...],
        work: Work,
        module: nn.Module,  # noqa: ARG002
    ) -> tuple[Tensor, ...]:
        return work(*inputs)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Recording:
    graph: torch.cuda.CUDAGraph
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    gradients: tuple[Tensor, ...]


class Captured:
    """One graph per key. Gradients are written by the graph into buffers of its own; what lies
    between is memory that all graphs of this object share, since one runs at a time.
    """

    mode = None

    def __init__(self) -> None:
        self._place: _Place | None = None
        self._seen: dict[tuple[Any, ...], int] = {}
        self._recordings: dict[tuple[Any, ...], _Recording] = {}

    def run(
        self, key: tuple[Any, ...], inputs: tuple[Tensor, ...], work: Work, module: nn.Module
    ) -> tuple[Tensor, ...]:
        seen = self._seen[key] = self._seen.get(key, 0) + 1
        if seen <= LIVE_FIRST:
            return work(*inputs)
        if key not in self._recordings:
            self._place = self._place or _Place.on(inputs[0].device)
            self._recordings[key] = _captured(inputs, work, module, self._place)
        recording = self._recordings[key]
        torch._foreach_copy_(list(recording.inputs), list(inputs))
        recording.graph.replay()
        for weight, gradient in zip(module.parameters(), recording.gradients, strict=True):
            weight.grad = gradient
        return tuple(output.clone() for output in recording.outputs)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """Where captures happen: a stream of their device, since torch's own for captures belongs to
    the device that was first to capture in this process, and what is launched on another is not
    captured, silently. And a pool of memory, of which blocks are used again on that stream only.
    """

    stream: torch.cuda.Stream
    pool: Any

    @classmethod
    def on(cls, device: torch.device) -> _Place:
        return cls(stream=torch.cuda.Stream(device), pool=torch.cuda.graph_pool_handle())


def _captured(
    inputs: tuple[Tensor, ...], work: Work, module: nn.Module, place: _Place
) -> _Recording:
    static = tuple(given.clone() for given in inputs)
    for weight in module.parameters():
        weight.grad = None  # so that backward makes them in the graph's own memory
    graph = torch.cuda.CUDAGraph()
    # To begin a capture is to wait for the whole device, which spoils another that is under way
    # there, whatever the error mode.
    with _CAPTURING:
        torch.cuda.synchronize(place.stream.device)
        with torch.cuda.graph(
            graph, pool=place.pool, stream=place.stream, capture_error_mode="thread_local"
        ):
            outputs = work(*static)
    gradients = tuple(weight.grad for weight in module.parameters())
    return _Recording(graph=graph, inputs=static, outputs=outputs, gradients=gradients)
