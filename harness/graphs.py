"""Running a piece of work live, or as a CUDA graph with static buffers.

The work is a drafter's forward and backward, or a target's forward.

A replay runs no Python: no trace, no compile and no lock of the loop happens in it, which is why
it may only begin once everything it needs is compiled.

A capture is alone on its device: a thread that waits for the whole device meanwhile gets an error
and spoils the capture, whatever its mode. Inductor does so where a compiled call runs for the first
time and its kernels are timed, and so does the beginning of another capture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from fxrace.guards._gate import Gate
from fxrace.probe.participants import participants

Work = Callable[..., tuple[Tensor, ...]]
LIVE_FIRST = 2
"""Steps of a shape that run live: the first compiles, the second shows that nothing is left."""
PATIENCE_S = 1800.0
"""Longer than any live step compiles; a trial's own limit comes first."""
_GATES: dict[torch.device, Gate] = {}
"""By device: what runs live reads, a capture writes."""


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
        device = inputs[0].device
        if seen <= LIVE_FIRST:
            with _waited_for(_gate(device).reading()):
                return work(*inputs)
        if key not in self._recordings:
            self._place = self._place or _Place.on(device)
            with _waited_for(_gate(device).writing()):
                self._recordings[key] = _captured(inputs, work, module, self._place)
        recording = self._recordings[key]
        torch._foreach_copy_(list(recording.inputs), list(inputs))
        recording.graph.replay()
        for weight, gradient in zip(module.parameters(), recording.gradients, strict=True):
            weight.grad = gradient
        return tuple(output.clone() for output in recording.outputs)


def _gate(device: torch.device) -> Gate:
    return _GATES.setdefault(device, Gate(PATIENCE_S))


@contextmanager
def _waited_for(entry: AbstractContextManager[None]) -> Iterator[None]:
    """Inside of ``entry``; until it is entered this thread counts as one that cannot run."""
    with ExitStack() as inside:
        with participants.waiting("other threads on its device"):
            inside.enter_context(entry)
        yield


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
    torch.cuda.synchronize(place.stream.device)
    with torch.cuda.graph(
        graph, pool=place.pool, stream=place.stream, capture_error_mode="thread_local"
    ):
        outputs = work(*static)
    gradients = tuple(weight.grad for weight in module.parameters())
    return _Recording(graph=graph, inputs=static, outputs=outputs, gradients=gradients)
