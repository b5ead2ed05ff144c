"""Random operators of one thread, led to a generator of its own.

A dispatch mode is per thread, and autograd's device threads enter it when the recompute does. It
counts as infrastructure, so compiled calls inside stay compiled. The surprise: ``native_dropout``
and the ``_like`` operators take no generator; they are taken apart into operators that do.
"""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

_BORROWING = threading.Lock()
_aten = torch.ops.aten


def seed_from() -> int:
    """One number from the process's generator; draws are atomic, so no two threads get the same."""
    with _disable_current_modes(), torch.no_grad():
        return int(torch.empty((), dtype=torch.int64, device="cpu").random_().item())


class Draws(TorchDispatchMode):  # type: ignore[misc]
    """Every draw comes from generators seeded with ``seed``, one for each device."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed
        self._generators: dict[torch.device, torch.Generator] = {}

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:  # fmt: skip
        kwargs = kwargs or {}
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return func(*args, **kwargs)
        if kwargs.get("generator") is not None:
            return func(*args, **kwargs)
        own = self._of(_device(args, kwargs))
        apart = _APART.get(func.overloadpacket)
        if apart is not None:
            return apart(own, *args, **kwargs)
        drawing = _with_generator(func)
        if drawing is not None:
            return drawing(*args, **kwargs, generator=own)
        return _borrowing(own, func, args, kwargs)

    def _of(self, device: torch.device) -> torch.Generator:
        found = self._generators.get(device)
        if found is None:
            found = self._generators[device] = torch.Generator(device)
            found.manual_seed(self._seed)
        return found


def _device(args: Any, kwargs: Any) -> torch.device:
    for value in (*args, *kwargs.values()):
        if isinstance(value, torch.Tensor):
            return _indexed(value.device)
    return _indexed(torch.device(kwargs.get("device") or "cpu"))


def _indexed(device: torch.device) -> torch.device:
    if device.type != "cpu" and device.index is None:
        return torch.device(device.type, torch.accelerator.current_device_index())
    return device


def _with_generator(func: Any) -> Any:
    """The overload of the same operator that takes a generator; None where there is none."""
    wanted = [one.name for one in func._schema.arguments]
    if "generator" in wanted:
        return func
    for name in func.overloadpacket.overloads():
        overload = getattr(func.overloadpacket, name)
        names = [one.name for one in overload._schema.arguments]
        if "generator" in names and [one for one in names if one != "generator"] == wanted:
            return overload
    return None


def _borrowing(own: torch.Generator, func: Any, args: Any, kwargs: Any) -> Any:
    """Run one operator on the process's generator as if it were ours, then put that back."""
    default = _default(own.device)
    with _BORROWING:
        before = default.get_state()
        default.set_state(own.get_state())
        try:
            return func(*args, **kwargs)
        finally:
            own.set_state(default.get_state())
            default.set_state(before)


def _default(device: torch.device) -> torch.Generator:
    if device.type == "cpu":
        return torch.default_generator
    module: Any = getattr(torch, device.type)
    found: torch.Generator = module.default_generators[device.index]
    return found


def _native_dropout(own: Any, given: Any, p: float, train: Any) -> Any:
    if train is False or not given.numel():
        return given.clone(), torch.ones_like(given, dtype=torch.bool)
    kept = 1.0 - p
    mask = torch.empty_like(given, dtype=torch.bool)
    _aten.bernoulli_.float(mask, kept, generator=own)
    scale = 0.0 if kept == 0.0 else 1.0 / kept
    return given * mask * scale, mask


def _rand_like(own: Any, given: Any, **kwargs: Any) -> Any:
    return _aten.uniform_(_aten.empty_like(given, **kwargs), 0.0, 1.0, generator=own)


def _randn_like(own: Any, given: Any, **kwargs: Any) -> Any:
    return _aten.normal_(_aten.empty_like(given, **kwargs), 0.0, 1.0, generator=own)


_APART: dict[Any, Any] = {
    _aten.native_dropout: _native_dropout,
    _aten.rand_like: _rand_like,
    _aten.randn_like: _randn_like,
}
