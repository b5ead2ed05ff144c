"""C7: must every source of FX tracing be serialised, not just the explicit compile calls?

Pairs of operations of which at most one is a compile, in forced positions. Traces break each other
on every torch; traces break another thread's warm compiled call up to 2.13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fxrace.core.claims import Rule
from fxrace.probe.claims import Claim, Experiment, _planted
from fxrace.probe.claims import _programs as programs
from fxrace.probe.claims._forcing import Contended, Pair, Stop
from fxrace.probe.claims.c6_process_global import module_call, symbolic
from fxrace.records.claims import Values

if TYPE_CHECKING:
    from fxrace.probe.claims._bench import Bench

RULE = Rule(
    test=lambda values: bool(values["failed"]),
    true="unserialised, one of the two failed ({symptom})",
    false="unserialised, both finished with the right result",
)


def _warm_call(bench: Bench) -> Any:
    call = programs.calling(programs.compiled(), programs.vector(bench))
    call()
    return call


def _module(bench: Bench) -> Any:
    def call() -> None:
        assert not module_call(bench), "a plain module was taken into another thread's trace"

    return call


def _trace_and_call(bench: Bench) -> Values:
    call, stop = _warm_call(bench), Stop()
    return Pair().beside(programs.tracing(bench, stop.arrive), call, stop).told()


def _flex_and_call(bench: Bench) -> Values:
    call, attend = _warm_call(bench), programs.attending(bench, programs.flex(bench))
    attend()
    return Pair().beside(attend, call, bench.stops.in_next_trace()).told()


def _trace_and_module(bench: Bench) -> Values:
    stop = Stop()
    return Pair().beside(symbolic(bench, stop.arrive), _module(bench), stop).told()


def _two_traces(bench: Bench) -> Values:
    trace = programs.tracing(bench)
    return Pair().overlapped(trace, trace, bench.stops).told()


def _two_flexes(bench: Bench) -> Values:
    attend = programs.attending(bench, programs.flex(bench))
    attend()
    return Pair().overlapped(attend, attend, bench.stops).told()


def _compile_and_trace(bench: Bench) -> Values:
    """An explicit compile, which torch's own lock covers, and a bare trace, which it does not."""
    compiling = programs.calling(programs.compiled(backend=bench.backend), programs.vector(bench))
    return Pair().overlapped(compiling, programs.tracing(bench), bench.stops).told()


def _planted_flag(bench: Bench) -> Values:
    inside, reads = _planted.process_wide(bench)
    return Pair().beside(inside, reads, bench.stops.in_next_trace()).told()


def _planted_swap(bench: Bench) -> Values:
    return Pair().overlapped(*_planted.swapped(bench), bench.stops).told()


def _serialised_call(bench: Bench) -> Values:
    """A trace and a warm compiled call with one lock round both."""
    return _serialised(bench, _warm_call(bench))


def _serialised_trace(bench: Bench) -> Values:
    """Two traces with one lock round both."""
    return _serialised(bench, programs.tracing(bench))


def _serialised(bench: Bench, other: Any) -> Values:
    stop = Stop()
    lock, trace = Contended(stop), programs.tracing(bench, stop.arrive)
    return Pair().beside(programs.under(lock, trace), programs.under(lock, other), stop).told()


def _beside(id: str, when: str, measured: Any) -> Experiment:
    return Experiment(
        id=id,
        when=when,
        rule=RULE,
        measured=measured,
        control_true=_planted_flag,
        control_false=_serialised_call,
    )


def _overlapping(id: str, when: str, measured: Any) -> Experiment:
    return Experiment(
        id=id,
        when=when,
        rule=RULE,
        measured=measured,
        control_true=_planted_swap,
        control_false=_serialised_trace,
    )


claim = Claim(
    id="C7",
    statement="all sources of FX tracing must be serialised, not just the explicit compile calls",
    depends_on="the pair, and the version of torch",
    experiments=(
        _beside("trace-call", "for make_fx beside a warm compiled call", _trace_and_call),
        _beside("flex-call", "for uncompiled flex beside a warm compiled call", _flex_and_call),
        _beside("trace-module", "for symbolic_trace beside a plain module", _trace_and_module),
        _overlapping("two-traces", "for two make_fx", _two_traces),
        _overlapping("two-flexes", "for two uncompiled flex_attention", _two_flexes),
        _overlapping("compile-trace", "for a compile and a make_fx", _compile_and_trace),
    ),
)
