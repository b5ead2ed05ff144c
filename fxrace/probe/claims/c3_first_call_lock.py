"""C3: is a lock round each thread's first compiled call not enough?

The lock is let go after the first call; whatever traces later (a new shape, the first backward,
an uncompiled flex_attention on every call) does so unlocked. Whether another thread's call breaks
on it depends on torch: the flag that breaks it is per thread from 2.14 on, and 2.13 hides it
while Dynamo itself compiles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fxrace.core.claims import SKIPPED, Rule
from fxrace.probe.claims import Claim, Experiment, _planted
from fxrace.probe.claims import _programs as programs
from fxrace.probe.claims._forcing import Contended, Pair
from fxrace.records.claims import Values

if TYPE_CHECKING:
    from fxrace.probe.claims._bench import Bench

RULE = Rule(
    test=lambda values: bool(values["failed"]),
    true="a call after the locked first ones failed ({symptom})",
    false="both threads finished although one traced beside the other",
)


def _new_shape(bench: Bench) -> Values:
    tracer, caller = programs.compiled(backend=bench.backend), programs.compiled()
    x = programs.vector(bench)
    pair = Pair()
    pair.in_turn(programs.calling(tracer, x), programs.calling(caller, x))
    stop = bench.stops.in_next_trace()
    again = programs.calling(tracer, programs.vector(bench, 9))
    return pair.beside(again, programs.calling(caller, x), stop).told()


def _lazy_backward(bench: Bench) -> Values:
    """The first call compiles a forward; its backward compiles, and traces, when it is called."""
    tracer = programs.compiled(programs.plain, programs.tracing_backward())
    return _first_backward(bench, tracer, programs.vector(bench))


def _inductor_backward(bench: Bench) -> Values:
    """The same with the backend that people use, whose pattern matcher traces in backward."""
    if not bench.cuda:
        return {SKIPPED: "inductor compiles C++ on a CPU, for half a minute"}
    x = programs.heads(bench)[0, 0].detach().requires_grad_()
    return _first_backward(bench, programs.compiled(programs.matmuls, "inductor"), x)


def _first_backward(bench: Bench, tracer: Any, x: Any) -> Values:
    call = programs.calling(programs.compiled(), programs.vector(bench))
    loss: list[Any] = []
    pair = Pair()
    pair.in_turn(lambda: loss.append(tracer(x).sum()), call)
    stop = bench.stops.in_next_trace()
    return pair.beside(lambda: loss[0].backward(), call, stop).told()


def _uncompiled(bench: Bench) -> Values:
    """Both threads have made their first call of flex_attention, one after the other."""
    attend = programs.attending(bench, programs.flex(bench))
    pair = Pair()
    pair.in_turn(attend, attend)
    return pair.overlapped(attend, attend, bench.stops).told()


def _planted_flag(bench: Bench) -> Values:
    inside, reads = _planted.process_wide(bench)
    return Pair().beside(inside, reads, bench.stops.in_next_trace()).told()


def _planted_swap(bench: Bench) -> Values:
    return Pair().overlapped(*_planted.swapped(bench), bench.stops).told()


def _locked_throughout(bench: Bench) -> Values:
    """The same new shape, with the lock round every call: the other thread waits for it."""
    tracer, caller = programs.compiled(backend=bench.backend), programs.compiled()
    x = programs.vector(bench)
    pair = Pair()
    pair.in_turn(programs.calling(tracer, x), programs.calling(caller, x))
    return _locked(bench, pair, tracer, caller)


def _locked(bench: Bench, pair: Pair, tracer: Any, caller: Any) -> Values:
    stop = bench.stops.in_next_trace()
    lock = Contended(stop)
    a = programs.calling(tracer, programs.vector(bench, 9))
    b = programs.calling(caller, programs.vector(bench))
    return pair.beside(programs.under(lock, a), programs.under(lock, b), stop).told()


claim = Claim(
    id="C3",
    statement="a lock around the first compiled call per thread is not enough",
    depends_on="what traces after the first call, and the version of torch",
    experiments=(
        Experiment(
            id="new-shape",
            when="when a compiled call meets a new shape",
            rule=RULE,
            measured=_new_shape,
            control_true=_planted_flag,
            control_false=_locked_throughout,
        ),
        Experiment(
            id="lazy-backward",
            when="when a first backward compiles",
            rule=RULE,
            measured=_lazy_backward,
            control_true=_planted_flag,
            control_false=_locked_throughout,
        ),
        Experiment(
            id="inductor-backward",
            when="when inductor compiles a first backward",
            rule=RULE,
            measured=_inductor_backward,
            control_true=_planted_flag,
            control_false=_locked_throughout,
        ),
        Experiment(
            id="uncompiled",
            when="when flex_attention is called uncompiled",
            rule=RULE,
            measured=_uncompiled,
            control_true=_planted_swap,
            control_false=_locked_throughout,
        ),
    ),
)
