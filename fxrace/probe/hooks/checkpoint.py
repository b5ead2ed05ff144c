"""Activation checkpointing: the forward that saves the random state, and the recompute.

Both kinds are watched. The recompute runs on the thread the engine runs the node on, which on
CUDA is autograd's device thread, not the thread that called ``backward``; the region's thread
says which. With ``preserve_rng_state`` the process's generator is saved at the forward and set back
round the recompute, so a draw by any other thread in between changes the mask: such a recompute
is a region ``rng`` as well.

The surprise: ``checkpoint`` itself cannot be replaced (Dynamo knows it by identity, programs
import it by name), so its inner parts are. Inside a compiled region neither kind runs this code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any

from fxrace.probe.hooks import Blind, Detach, in_reverse, replaced
from fxrace.probe.watching import Watching

KNOWN = "2.6 to 2.15; read in 2.13"
FORWARD, RECOMPUTE, RNG = "checkpoint", "recompute", "rng"
_PRESERVE = "preserve_rng_state"
_GENERATOR = "_checkpoint_without_reentrant_generator"


def attach(watching: Watching) -> Detach:
    from torch.utils import checkpoint

    held = vars(checkpoint)
    if not {"CheckpointFunction", "_CheckpointFrame", _GENERATOR} <= set(held):
        raise Blind("torch.utils.checkpoint has no CheckpointFunction or _CheckpointFrame")
    return in_reverse(
        _reentrant(watching, checkpoint.CheckpointFunction),
        _frame(watching, checkpoint._CheckpointFrame),
        replaced(checkpoint, _GENERATOR, _generator(watching, held[_GENERATOR])),
    )


def _reentrant(watching: Watching, function: Any) -> Detach:
    forward, backward = function.forward, function.backward

    @wraps(forward)
    def noted_forward(ctx: Any, run_function: Any, *args: Any) -> Any:
        with watching.regions.region(FORWARD, _name(run_function)):
            return forward(ctx, run_function, *args)

    @wraps(backward)
    def noted_backward(ctx: Any, *args: Any) -> Any:
        name = _name(getattr(ctx, "run_function", None))
        with _recomputing(watching, name, getattr(ctx, _PRESERVE, True)):
            return backward(ctx, *args)

    return in_reverse(
        replaced(function, "forward", staticmethod(noted_forward)),
        replaced(function, "backward", staticmethod(noted_backward)),
    )


def _frame(watching: Watching, frame: Any) -> Detach:
    original = frame.__init__

    @wraps(original)
    def init(self: Any, recompute_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        name, preserves = _name(_free(recompute_fn, "fn")), _free(recompute_fn, _PRESERVE)

        @wraps(recompute_fn)
        def recompute(*inputs: Any) -> Any:
            with _recomputing(watching, name, preserves):
                return recompute_fn(*inputs)

        original(self, recompute, *args, **kwargs)

    return replaced(frame, "__init__", init)


def _generator(watching: Watching, original: Any) -> Any:
    @wraps(original)
    def generator(fn: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        with watching.regions.region(FORWARD, _name(fn)):
            yield from original(fn, *args, **kwargs)

    return generator


def _free(function: Any, name: str) -> Any:
    """What a variable of the enclosing function is to this one; True where it has none so named."""
    code = getattr(function, "__code__", None)
    names = code.co_freevars if code is not None else ()
    return function.__closure__[names.index(name)].cell_contents if name in names else True


@contextmanager
def _recomputing(watching: Watching, name: str, preserves: Any) -> Iterator[None]:
    region = watching.regions.region
    with region(RECOMPUTE, name), region(RNG, name) if preserves else nullcontext():
        yield


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
