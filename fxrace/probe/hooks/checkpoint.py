"""Activation checkpointing: the forward that saves the random state, and the recompute.

Both kinds are watched. The recompute runs on the thread the engine runs the node on, which on
CUDA is autograd's device thread, not the thread that called ``backward``; the region's thread
says which. With ``preserve_rng_state`` the process's generator is saved at the forward and set back
round the recompute, so a draw by any other thread in between changes the mask: such a recompute
is a region ``rng`` as well, and its end is compared with the forward's (``fxrace.probe.draws``).

The surprise: ``checkpoint`` itself cannot be replaced (Dynamo knows it by identity, programs
import it by name), so its inner parts are. Inside a compiled region neither kind runs this code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from typing import Any

from fxrace.probe.draws import FORWARD, Draws, Sampled, Window, sample, several_threads
from fxrace.probe.hooks import Blind, Detach, in_reverse, replaced
from fxrace.probe.watching import Watching

KNOWN = "2.6 to 2.15; read in 2.13"
RECOMPUTE, RNG = "recompute", "rng"
_PRESERVE, _WINDOW, _DIFFERS = "preserve_rng_state", "_fxrace_window", "_fxrace_differs"
_ENOUGH = "_StopRecomputationError"
_CHECK = "check_recomputed_tensors_match"
# From 2.14 the second is what runs; the first is kept for callers outside of torch.
_GENERATOR = "_checkpoint_without_reentrant_generator"
_GENERATORS = (f"{_GENERATOR}_impl", _GENERATOR)


def attach(watching: Watching) -> Detach:
    from torch.utils import checkpoint

    held = vars(checkpoint)
    generators = [name for name in _GENERATORS if name in held][:1]
    if not generators or not {"CheckpointFunction", "_CheckpointFrame"} <= set(held):
        raise Blind("torch.utils.checkpoint has no CheckpointFunction or _CheckpointFrame")
    draws = Draws(watching.recorder)
    return in_reverse(
        _reentrant(watching, draws, checkpoint.CheckpointFunction),
        _frame(watching, draws, checkpoint),
        _checked(draws, checkpoint._CheckpointFrame),
        *(
            replaced(checkpoint, name, _generator(watching, draws, held[name]))
            for name in generators
        ),
    )


def _reentrant(watching: Watching, draws: Draws, function: Any) -> Detach:
    forward, backward = function.forward, function.backward

    @wraps(forward)
    def noted_forward(ctx: Any, run_function: Any, *args: Any) -> Any:
        name = _name(run_function)
        with (
            watching.regions.region(FORWARD, name),
            _saving(draws, name, args[0] if args else True) as window,
        ):
            outputs = forward(ctx, run_function, *args)
            if window is not None:
                window.outputs = _samples(outputs)
                setattr(ctx, _WINDOW, window)
            return outputs

    @wraps(backward)
    def noted_backward(ctx: Any, *args: Any) -> Any:
        function, window = getattr(ctx, "run_function", None), getattr(ctx, _WINDOW, None)
        with _recomputing(watching, draws, _name(function), getattr(ctx, _PRESERVE, True)):
            if window is None:
                return backward(ctx, *args)
            ctx.run_function = _followed(draws, window, function)
            try:
                return backward(ctx, *args)
            finally:
                ctx.run_function = function

    return in_reverse(
        replaced(function, "forward", staticmethod(noted_forward)),
        replaced(function, "backward", staticmethod(noted_backward)),
    )


def _followed(draws: Draws, window: Window, function: Any) -> Callable[..., Any]:
    """The recompute of a reentrant checkpoint, its outputs compared with the forward's."""

    def followed(*args: Any) -> Any:
        outputs = function(*args)
        pairs = zip(window.outputs, _samples(outputs), strict=False)
        differ = any(None not in pair and pair[0] != pair[1] for pair in pairs)
        draws.ended(window)
        draws.compare(window, differ=differ)
        return outputs

    return followed


def _frame(watching: Watching, draws: Draws, checkpoint: Any) -> Detach:
    frame, enough = checkpoint._CheckpointFrame, getattr(checkpoint, _ENOUGH, ())
    original = frame.__init__

    @wraps(original)
    def init(self: Any, recompute_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        function, preserves = _free(recompute_fn, "fn"), _free(recompute_fn, _PRESERVE)
        name = _name(function)

        @wraps(recompute_fn)
        def recompute(*inputs: Any) -> Any:
            with _recomputing(watching, draws, name, preserves):
                try:
                    return recompute_fn(*inputs)
                except enough as error:  # the region ends well: nothing has gone wrong
                    stopped = error
            try:
                raise stopped
            finally:
                del stopped  # else error and frame hold each other, and all that was recomputed

        original(self, recompute, *args, **kwargs)
        describe, window = getattr(self, "metadata_fn", None), getattr(function, _WINDOW, None)
        if window is not None and describe is not None:
            setattr(self, _WINDOW, window)
            self.metadata_fn = lambda x: Sampled(
                describe(x), x, lambda: setattr(self, _DIFFERS, True)
            )

    return replaced(frame, "__init__", init)


def _checked(draws: Draws, frame: Any) -> Detach:
    """Torch compares what was recomputed with what was saved; what we have seen is told then."""
    original = getattr(frame, _CHECK)

    @wraps(original)
    def check(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        finally:
            window = getattr(self, _WINDOW, None)
            if window is not None:
                draws.compare(window, differ=getattr(self, _DIFFERS, False))

    return replaced(frame, _CHECK, check)


def _generator(watching: Watching, draws: Draws, original: Any) -> Any:
    @wraps(original)
    def generator(fn: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        by_place = args[0] if args and isinstance(args[0], bool) else True
        name, preserves = _name(fn), kwargs.get(_PRESERVE, by_place)
        with (
            watching.regions.region(FORWARD, name),
            _saving(draws, name, preserves) as window,
        ):
            noted = fn if window is None else _ending(draws, window, fn, name)
            yield from original(noted, *args, **kwargs)

    return generator


def _ending(draws: Draws, window: Window, function: Any, name: str) -> Callable[..., Any]:
    """The recompute of a checkpoint that is not reentrant; torch may stop it early by an error."""

    def followed(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        finally:
            draws.ended(window)

    followed.__name__ = name
    setattr(followed, _WINDOW, window)
    return followed


def _saving(draws: Draws, name: str, preserves: Any) -> AbstractContextManager[Window | None]:
    """A forward whose random state is saved, where another thread could disturb it."""
    return draws.window(FORWARD, name) if preserves and several_threads() else nullcontext()


def _samples(outputs: Any) -> tuple[int | None, ...]:
    return tuple(map(sample, outputs if isinstance(outputs, tuple) else (outputs,)))


def _free(function: Any, name: str) -> Any:
    """What a variable of the enclosing function is to this one; True where it has none so named."""
    code = getattr(function, "__code__", None)
    names = code.co_freevars if code is not None else ()
    return function.__closure__[names.index(name)].cell_contents if name in names else True


@contextmanager
def _recomputing(watching: Watching, draws: Draws, name: str, preserves: Any) -> Iterator[None]:
    region = watching.regions.region
    if not preserves:
        with region(RECOMPUTE, name):
            yield
        return
    with region(RECOMPUTE, name), region(RNG, name), draws.window(RNG, name):
        yield


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
