"""C5: does use_reentrant=False remove the race?

It moves the compile of the graph with grad from backward into forward, where a lock or a warm-up
may be. That is all: a new shape compiles wherever it turns up, and uncompiled flex_attention, which
traces on every call with grad, traces twice a step instead of once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fxrace.core.claims import Rule
from fxrace.probe.claims import Claim, Experiment, _planted
from fxrace.probe.claims import _checkpointed as checkpointed
from fxrace.probe.claims import _programs as programs
from fxrace.probe.claims._counts import TRACE
from fxrace.probe.claims._forcing import Contended, Pair
from fxrace.records.claims import Values

if TYPE_CHECKING:
    from fxrace.probe.claims._bench import Bench

EXPOSED = Rule(
    test=lambda values: values["reentrant"] > 0 and values["nonreentrant"] == 0,  # type: ignore[operator]
    true="traces outside the lock: {reentrant} with use_reentrant=True, none with False",
    false="traces outside the lock: {reentrant} with use_reentrant=True, {nonreentrant} with False",
)
FORCED = Rule(
    test=lambda values: not values["failed"],
    true="two overlapping steps with use_reentrant=False both finished",
    false="with use_reentrant=False, of two overlapping steps one failed ({symptom})",
)


def _after_the_lock(bench: Bench, make: Any, *, next_size: int | None = None) -> Values:
    """Traces that no lock round the first forward covers: its backward, or all of a later step."""
    return {
        "reentrant": _outside(bench, checkpointed.reentrant, make(bench), next_size),
        "nonreentrant": _outside(bench, checkpointed.nonreentrant, make(bench), next_size),
    }


def _outside(bench: Bench, wrap: Any, function: Any, next_size: int | None) -> int:
    loss = wrap(function, programs.vector(bench) * 2).sum()
    if next_size is None:
        with bench.counts.during() as seen:
            loss.backward()
        return seen.of(TRACE)
    loss.backward()
    with bench.counts.during() as seen:
        wrap(function, programs.vector(bench, next_size) * 2).sum().backward()
    return seen.of(TRACE)


def _compiled(bench: Bench) -> Any:
    return programs.compiled(backend=bench.backend)


def _uncompiled(bench: Bench) -> Any:
    """Attention over a vector, made into heads: the size of the vector plays no role."""
    attention, x = programs.flex(bench), programs.heads(bench)

    def attend(vector: Any) -> Any:
        q = x * vector.sum()
        return attention(q, x, x)

    return attend


def _known_shape(bench: Bench) -> Values:
    return _after_the_lock(bench, _compiled)


def _new_shape(bench: Bench) -> Values:
    return _after_the_lock(bench, _compiled, next_size=9)


def _uncompiled_step(bench: Bench) -> Values:
    return _after_the_lock(bench, _uncompiled, next_size=8)


def _moves(bench: Bench) -> Values:
    """A function that traces once per grad mode: switching must be seen to help."""
    return _after_the_lock(bench, checkpointed.traces_once_per_grad_mode)


def _stays(bench: Bench) -> Values:
    """A function that traces on every call: switching must be seen not to help."""
    return _after_the_lock(bench, checkpointed.traces_every_call)


def _overlapping(bench: Bench) -> Values:
    """Both threads in the second step of uncompiled attention; both traces are in forward."""
    step = _step(bench)
    pair = Pair()
    pair.in_turn(step, step)
    return pair.overlapped(step, step, bench.stops).told()


def _one_at_a_time(bench: Bench) -> Values:
    """The same two steps with a lock round each: the second one waits for the first."""
    step = _step(bench)
    pair = Pair()
    pair.in_turn(step, step)
    stop = bench.stops.in_next_trace()
    lock = Contended(stop)
    return pair.beside(programs.under(lock, step), programs.under(lock, step), stop).told()


def _step(bench: Bench) -> Any:
    function = _uncompiled(bench)

    def step() -> None:
        checkpointed.nonreentrant(function, programs.vector(bench) * 2).sum().backward()

    return step


def _planted_swap(bench: Bench) -> Values:
    return Pair().overlapped(*_planted.swapped(bench), bench.stops).told()


def _experiment(id: str, when: str, measured: Any) -> Experiment:
    return Experiment(
        id=id,
        when=when,
        rule=EXPOSED,
        measured=measured,
        control_true=_moves,
        control_false=_stays,
    )


claim = Claim(
    id="C5",
    statement="switching to use_reentrant=False removes the race",
    depends_on="what the checkpointed function calls, and on shapes",
    experiments=(
        _experiment("known-shape", "for a compiled function at a warmed-up shape", _known_shape),
        _experiment("new-shape", "for a compiled function at a new shape", _new_shape),
        _experiment("uncompiled", "for uncompiled flex_attention (count)", _uncompiled_step),
        Experiment(
            id="overlapping",
            when="for uncompiled flex_attention (forced)",
            rule=FORCED,
            measured=_overlapping,
            control_true=_one_at_a_time,
            control_false=_planted_swap,
        ),
    ),
)
