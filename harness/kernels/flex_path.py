"""Ground under both flex attention parts: gradients on the CPU, and seeing dense falls.

flex_attention refuses gradients on the CPU in its public device check only; with the check
lifted the real operator trains there, through the same joint-graph trace as on a GPU. After the
recompile limit a compiled flex_attention runs its uncompiled path, which materialises the
scores and says so in one warning; here every such call is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.attention.flex_attention as flex
from torch import Tensor

from harness.figures.counters import Counters

LIFTED = "flex_attention's device check is lifted: it refuses gradients on the CPU, the operator"
# Called by every uncompiled flex_attention and by nothing a compiled one runs; the later name
# from torch 2.11 on.
_ENTRANCES = ("setup_compilation_env", "_set_compilation_env")


def prepare(device: torch.device, counters: Counters) -> None:
    """Make flex usable on ``device`` and count its dense falls, once per trial."""
    if device.type == "cpu" and hasattr(flex, "_validate_device"):
        counters.attach_once("device check", _lift_device_check)
        counters.note(f"{LIFTED} does not")
    entrance = next((name for name in _ENTRANCES if hasattr(flex, name)), None)
    if entrance is None:
        counters.blind("dense attention", "the uncompiled path of flex_attention has no known door")
        return
    counters.attach_once("dense attention", lambda: _watch(entrance, counters.dense.add))


def _lift_device_check() -> Callable[[], None]:
    original = flex._validate_device
    flex._validate_device = _any_device

    def detach() -> None:
        flex._validate_device = original

    return detach


def _any_device(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Stands in for flex_attention's device check."""


def _watch(entrance: str, seen: Callable[[], None]) -> Callable[[], None]:
    original = getattr(flex, entrance)

    def counted(*args: Any, **kwargs: Any) -> Any:
        seen()
        return original(*args, **kwargs)

    setattr(flex, entrance, counted)

    def detach() -> None:
        setattr(flex, entrance, original)

    return detach
