"""C4: does the chunked loss under a reentrant checkpoint do FX tracing of its own?

The checkpoint enters no tracer. What it runs again in backward may: uncompiled flex_attention
traces on every call with grad, and a compiled function whose forward ran under no_grad compiles
its other graph there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fxrace.core.claims import Rule
from fxrace.probe.claims import Claim, Experiment
from fxrace.probe.claims import _checkpointed as checkpointed
from fxrace.probe.claims import _programs as programs
from fxrace.probe.claims._counts import TRACE
from fxrace.records.claims import Value, Values

if TYPE_CHECKING:
    from fxrace.probe.claims._bench import Bench

ALONE = Rule(
    test=lambda values: values["own"] > 0,  # type: ignore[operator]
    true="traces that only the checkpoint can have made: {own}",
    false="no trace in forward or backward of an eager loss",
)
INSIDE = Rule(
    test=lambda values: values["own"] > 0,  # type: ignore[operator]
    true="traces that only the checkpoint can have made: {own}",
    false="traces in backward: {backward_traces}, all made by recomputed flex_attention calls "
    "({calls}), each of which traces without a checkpoint too",
)
COMPILED_INSIDE = Rule(
    test=lambda values: values["own"] > 0,  # type: ignore[operator]
    true="traces in backward although both graphs had been compiled: {own}",
    false="traces in a backward whose graphs had been compiled: 0 (cold: {cold_traces}, in "
    "{cold_compiles} compiles)",
)


def _alone(bench: Bench, wrap: Any) -> Values:
    seen = checkpointed.traces(bench, checkpointed.chunked_loss(bench, wrap))
    return {**seen, "own": _number(seen["forward_traces"]) + _number(seen["backward_traces"])}


def _uncompiled(bench: Bench, wrap: Any) -> Values:
    """Traces in backward beyond those that the recomputed calls make by themselves."""
    attention = checkpointed.Counted(programs.flex(bench))
    x = programs.heads(bench)

    def attend(x: Any) -> Any:
        return attention(x, x, x)

    attend(x)  # the very first call traces once more, while it compiles
    with bench.counts.during() as plain:
        attend(x)
    each, before = plain.of(TRACE), 0

    def forward() -> Any:
        nonlocal before
        loss = wrap(attend, x * 2)
        before = attention.with_grad
        return loss

    seen = checkpointed.traces(bench, forward)
    calls = attention.with_grad - before
    own = _number(seen["backward_traces"]) - calls * each
    return {**seen, "calls": calls, "traces_of_a_call": each, "own": own}


def _compiled(bench: Bench, wrap: Any) -> Values:
    """Traces of a backward whose graphs have all been compiled by plain calls before."""
    cold = checkpointed.traces(bench, _step(bench, wrap, programs.compiled(backend=bench.backend)))
    function = programs.compiled(backend=bench.backend)
    _step(bench, checkpointed.unwrapped, function)().sum().backward()
    seen = checkpointed.traces(bench, _step(bench, wrap, function))
    return {
        **seen,
        "cold_traces": cold["backward_traces"],
        "cold_compiles": cold["backward_compiles"],
        "own": seen["backward_traces"],
    }


def _step(bench: Bench, wrap: Any, function: Any) -> Any:
    return lambda: wrap(function, programs.vector(bench) * 2)


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _experiment(id: str, when: str, rule: Rule, measure: Any) -> Experiment:
    return Experiment(
        id=id,
        when=when,
        rule=rule,
        measured=lambda bench: measure(bench, checkpointed.reentrant),
        control_true=lambda bench: measure(bench, checkpointed.tracing),
        control_false=lambda bench: measure(bench, checkpointed.unwrapped),
    )


claim = Claim(
    id="C4",
    statement="_chunked_loss under checkpoint(use_reentrant=True) does its own FX tracing, "
    "in the background, in backward",
    depends_on="what the checkpointed function calls",
    experiments=(
        _experiment("alone", "round an eager chunked loss", ALONE, _alone),
        _experiment("uncompiled", "round uncompiled flex_attention", INSIDE, _uncompiled),
        _experiment("compiled", "round a compiled function", COMPILED_INSIDE, _compiled),
    ),
)
