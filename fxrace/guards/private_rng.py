"""A checkpointed region draws the same numbers when it is recomputed, whatever others draw.

Stock checkpoint saves the process's generator before the region and sets it back round the
recompute, so a draw by any other thread changes the mask, silently, and is itself repeated later.
Here each region draws from a generator of its own, seeded once from the process's: no lock, and
the process's generator is never set back. The surprise: the numbers are not those of a run without
the guard, as the region takes one number from the process's generator and not as many as it draws.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from fxrace.guards._contract import Detach, Guard, GuardRefused, version
from fxrace.guards._hidden import hide_guards
from fxrace.guards._swap import Layer, copy_of, expecting, filled, layered, plain, swapped

PRESERVE = "preserve_rng_state"
FIRST = (2, 12)


class Region:
    """The function of one checkpointed region, with its own generator each time it runs."""

    def __init__(self, function: Any, seed: int) -> None:
        self._function, self._seed = function, seed
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from fxrace.guards._random import Draws  # it needs torch, this module does not

        with Draws(self._seed):
            return self._function(*args, **kwargs)


class Checkpointing:
    """``torch.utils.checkpoint.checkpoint`` round such a region."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def run(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        region, options = _private(function, kwargs)
        return self._original(region, *args, **options)


def _private(function: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The region with its own generator, and checkpoint told to leave the process's alone."""
    if not options.get(PRESERVE, True) or _is_traced():
        return function, options
    from fxrace.guards._random import seed_from

    return Region(function, seed_from()), {**options, PRESERVE: False}


def _checkpoint(function: Any, *args: Any, **kwargs: Any) -> Any:
    return "<fxrace>".run(function, args, kwargs)  # type: ignore[attr-defined]


def _is_traced() -> bool:
    """Whether a tracer is watching: then a draw is a node of its graph, not a number."""
    import torch
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    return bool(_get_current_dispatch_mode_stack()) or torch.compiler.is_compiling()


def attach() -> Detach:
    """Change ``checkpoint`` in place: programs import it by name, Dynamo knows it by identity."""
    from torch.utils import checkpoint as module

    if version() < FIRST:
        raise GuardRefused(
            "before torch 2.12 a compiled call inside such a region would recompile every time",
            remedy="draw from explicit generators in checkpointed regions",
        )
    if "_checkpoint_impl" in vars(module):  # 2.14: reached by the decorator form too
        hide_guards()
        return layered(module, "_checkpoint_impl", _inner)
    function = plain(getattr(module.checkpoint, "__wrapped__", module.checkpoint))
    if function.__name__ != "checkpoint":
        raise GuardRefused("torch.utils.checkpoint.checkpoint is not the function known here")
    expecting(function, "CheckpointFunction", "_checkpoint_without_reentrant_generator")
    hide_guards()
    state = Checkpointing(copy_of(function))
    return swapped(function, filled(_checkpoint, function, state))


def _inner(layer: Layer) -> Any:
    @wraps(layer.inner)
    def impl(function: Any, args: Any, kwargs: Any, **options: Any) -> Any:
        if layer.live:
            function, options = _private(function, options)
        return layer.inner(function, args, kwargs, **options)

    return impl


guard = Guard(
    cures=("checkpoint-rng-race", "checkpoint-rng-rewound", "cuda-checkpoint-rng-race"),
    cannot_cure=(
        "Operators that draw without taking a generator (fused attention with dropout) borrow the "
        "process's generator for the length of that one operator.",
        "CheckpointFunction.apply called past torch.utils.checkpoint.checkpoint is not changed.",
        "Draws outside of checkpointed regions stay one stream for all threads.",
        "Inside a compiled region checkpoint is part of the graph and is not changed.",
        "Every operator of an uncompiled region passes through Python once more.",
    ),
    attach=attach,
)
