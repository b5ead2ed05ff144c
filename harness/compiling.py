"""How the harness calls ``torch.compile`` for anything but attention: static, one backend.

Inductor on a GPU; ``aot_eager`` on the CPU, where the traces are what matters and not the code.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Protocol, TypeVar

import torch

from harness.contracts import Call, Locking, Phase

T = TypeVar("T")


class Run(Protocol):
    """Makes a call that may compile: (site, phase, key, work) -> what work returns."""

    def __call__(
        self, site: str, phase: Phase, key: tuple[Any, ...], work: Callable[[], Any], /
    ) -> Any: ...


def compiled(function: Callable[..., T], device: torch.device, mode: str | None = None) -> Any:
    """The function compiled for ``device``, without dynamic shapes, in a cache of its own."""
    return torch.compile(copied(function), dynamic=False, **backend(device, mode))


def copied(function: Any) -> Any:
    """The same function on a code object of its own.

    Dynamo's cache and its recompile limit belong to the code object: three drafters on three
    devices with three row lengths need nine entries of one, and the limit is eight.
    """
    twin = FunctionType(
        function.__code__.replace(),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    return twin


def backend(device: torch.device, mode: str | None = None) -> dict[str, Any]:
    """Keywords of ``torch.compile`` for this device; torch refuses a mode with a backend."""
    if device.type == "cpu":
        return {"backend": "aot_eager"}
    return {"backend": "inductor"} if mode is None else {"mode": mode}


def at_home(
    site: str,  # noqa: ARG001 - the shape of Run
    phase: Phase,  # noqa: ARG001
    key: tuple[Any, ...],  # noqa: ARG001
    work: Callable[[], Any],
) -> Any:
    """Runs the work, under nothing."""
    return work()


def under(locking: Locking, drafter: int) -> Run:
    """Runs work for this drafter under the locking part."""

    def run(site: str, phase: Phase, key: tuple[Any, ...], work: Callable[[], Any]) -> Any:
        return locking.around(Call(site=site, drafter=drafter, phase=phase, key=key), work)

    return run
