"""C2: is a warm-up on main of no use to worker threads?

It is of use for exactly what it compiled. Grad mode, shapes, the number of threads and whatever a
backward compiles are part of what is looked up; settings made on main do not reach workers from
torch 2.12 on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fxrace.core.claims import Rule
from fxrace.probe.claims import Claim, Experiment
from fxrace.probe.claims import _programs as programs
from fxrace.probe.claims._counts import COMPILED, LAZY_BACKWARD
from fxrace.records.claims import Values

if TYPE_CHECKING:
    from fxrace.probe.claims._bench import Bench

CALLS = Rule(
    test=lambda values: values["compiles"] > 0,  # type: ignore[operator]
    true="compiles left for the worker after the warm-up on main: {compiles}",
    false="the worker compiled nothing after the warm-up on main",
)
SETTINGS = Rule(
    test=lambda values: values["compiled"] < values["shapes"],  # type: ignore[operator]
    true="with the limit raised on main the worker compiled {compiled} of {shapes} shapes, "
    "the rest ran uncompiled: the limit was {limit} there",
    false="with the limit raised on main the worker compiled all {shapes} shapes",
)
SHAPES, RAISED = 12, 64


def _compiles(bench: Bench, warmup: Callable[[Any], Any], then: Callable[[Any], Any]) -> Values:
    """Compiles of a worker that does ``then`` with a function that ``warmup`` had on main."""
    function = programs.compiled(backend="aot_eager")
    warmup(function)
    with bench.counts.during() as seen:
        bench.worker(lambda: then(function))
    return {"compiles": seen.of(COMPILED) + seen.of(LAZY_BACKWARD)}


def _called(bench: Bench, size: int = 8) -> Callable[[Any], Any]:
    return lambda function: function(programs.vector(bench, size))


def _trained(bench: Bench) -> Callable[[Any], Any]:
    return lambda function: function(programs.vector(bench)).sum().backward()


def _under_no_grad(bench: Bench) -> Callable[[Any], Any]:
    def call(function: Any) -> Any:
        import torch

        with torch.no_grad():
            return function(programs.vector(bench))

    return call


def _same(bench: Bench) -> Values:
    return _compiles(bench, _trained(bench), _trained(bench))


def _grad_mode(bench: Bench) -> Values:
    return _compiles(bench, _under_no_grad(bench), _called(bench))


def _new_shape(bench: Bench) -> Values:
    return _compiles(bench, _called(bench), _called(bench, 9))


def _backward(bench: Bench) -> Values:
    return _compiles(bench, _called(bench), _trained(bench))


def _threads_set_elsewhere(bench: Bench) -> Values:
    """A third thread sets the number of threads between the warm-up and the worker's start."""
    import torch

    def warmup(function: Any) -> None:
        _called(bench)(function)
        bench.worker(lambda: torch.set_num_threads(torch.get_num_threads() + 1))

    return _compiles(bench, warmup, _called(bench))


def _cold(bench: Bench) -> Values:
    """No warm-up at all: the worker must compile."""
    return _compiles(bench, programs.nop, _called(bench))


def _by_the_worker(bench: Bench) -> Values:
    """Warmed up in the worker itself, forward and backward: nothing is left to compile."""
    function = programs.compiled(backend="aot_eager")

    def twice() -> Any:
        _trained(bench)(function)
        with bench.counts.during() as seen:
            _trained(bench)(function)
        return seen

    seen = bench.worker(twice)
    return {"compiles": seen.of(COMPILED) + seen.of(LAZY_BACKWARD)}


def _limit(raised: int | None = None) -> int:
    """Dynamo's limit of compiles per code object in this thread, set first if given."""
    import torch

    config = torch._dynamo.config
    name = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"
    if raised is not None:
        setattr(config, name, raised)
    return int(getattr(config, name))


def _shapes(bench: Bench, on_main: int | None, in_worker: int | None) -> Values:
    function = programs.compiled()
    _limit(on_main)

    def working() -> int:
        limit = _limit(in_worker)
        for size in range(2, 2 + SHAPES):
            programs.calling(function, programs.vector(bench, size))()
        return limit

    with bench.counts.during() as seen:
        limit = bench.worker(working)
    return {"shapes": SHAPES, "compiled": seen.of(COMPILED), "limit": limit}


def _raised_on_main(bench: Bench) -> Values:
    return _shapes(bench, RAISED, None)


def _lowered_in_worker(bench: Bench) -> Values:
    return _shapes(bench, RAISED, 8)


def _raised_in_worker(bench: Bench) -> Values:
    return _shapes(bench, None, RAISED)


def _experiment(id: str, when: str, measured: Any) -> Experiment:
    return Experiment(
        id=id,
        when=when,
        rule=CALLS,
        measured=measured,
        control_true=_cold,
        control_false=_by_the_worker,
    )


claim = Claim(
    id="C2",
    statement="warm-up on the main thread does not help worker threads",
    depends_on="what differs between the warm-up and the worker",
    experiments=(
        _experiment("same", "under the same conditions, forward and backward", _same),
        _experiment("grad-mode", "after a warm-up under no_grad", _grad_mode),
        _experiment("new-shape", "at a shape that was not warmed up", _new_shape),
        _experiment("backward", "for the backward after a warm-up of the forward", _backward),
        _experiment(
            "threads", "after another thread called set_num_threads", _threads_set_elsewhere
        ),
        Experiment(
            id="settings",
            when="for a recompile_limit set on main",
            rule=SETTINGS,
            measured=_raised_on_main,
            control_true=_lowered_in_worker,
            control_false=_raised_in_worker,
        ),
    ),
)
