"""Uncompiled ``flex_attention``: a compile with ``eager`` inside, and the dense computation.

It sets up the environment of the higher-order operators under its own module's name for it, which
tells it apart; the region spans the whole dense computation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fxrace.probe.hooks import Blind, Detach, replaced
from fxrace.probe.watching import Watching

KNOWN = "2.5 to 2.15; read in 2.13"
AFTER = "torch.nn.attention.flex_attention"
KIND = "flex_eager"
_ENVIRONMENTS = ("setup_compilation_env", "_set_compilation_env")


def attach(watching: Watching) -> Detach:
    from torch.nn.attention import flex_attention

    names = [name for name in _ENVIRONMENTS if name in vars(flex_attention)]
    if not names:
        raise Blind("torch.nn.attention.flex_attention sets up no compilation environment")
    original = getattr(flex_attention, names[0])

    @contextmanager
    def environment(*args: Any, **kwargs: Any) -> Iterator[Any]:
        with watching.regions.region(KIND, "flex_attention"), original(*args, **kwargs) as backend:
            yield backend

    return replaced(flex_attention, names[0], environment)
