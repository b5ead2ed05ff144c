"""C6: is FX tracing state process-global?

One experiment per State: while thread a stands inside a trace, thread b, which traces nothing,
looks. The tracing flag is per thread from torch 2.14 on; the patcher, the patched nn.Module and
make_fx's tracer belong to the process up to 2.15 at least.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fxrace.core.claims import Rule
from fxrace.probe.claims import Claim, Experiment
from fxrace.probe.claims import _programs as programs
from fxrace.probe.claims._forcing import Pair, Stop
from fxrace.records.claims import Values

if TYPE_CHECKING:
    from fxrace.probe.claims._bench import Bench

Look = Callable[["Bench"], bool]


def flag(_bench: Bench) -> bool:
    """The tracing flag, through the function by which the rest of torch reads it."""
    from torch.fx._symbolic_trace import is_fx_tracing

    return bool(is_fx_tracing())


def patcher(_bench: Bench) -> bool:
    """A patcher is installed."""
    from torch.fx import _symbolic_trace

    return _symbolic_trace.CURRENT_PATCHER is not None


def module_call(bench: Bench) -> bool:
    """A plain eager module does not do what it should."""
    import torch

    module = torch.nn.Linear(2, 2, device=bench.device)
    try:
        out = module(torch.ones(1, 2, device=bench.device))
    except NameError:  # "module is not installed as a submodule", of FX's patched __call__
        return True
    return type(out) is not torch.Tensor


def make_fx_tracer(_bench: Bench) -> bool:
    """A make_fx tracer is the current one."""
    from torch.fx.experimental import proxy_tensor

    return proxy_tensor._CURRENT_MAKE_FX_TRACER is not None


def symbolic(_bench: Bench, body: Any) -> Any:
    """torch.fx.symbolic_trace, which patches nn.Module as well; ``body`` runs in the middle."""
    from torch.fx import symbolic_trace

    def traced(x: Any) -> Any:
        body()
        return x.cos()

    return lambda: symbolic_trace(traced)


def _from_outside(bench: Bench, trace: Any, look: Look) -> Values:
    """What b sees while a stands in the trace."""
    stop, seen = Stop(), list[bool]()
    met = Pair().beside(trace(bench, stop.arrive), lambda: seen.append(look(bench)), stop)
    return {
        "forced": met.forced and bool(seen),
        "seen": any(seen),
        "symptom": met.told()["symptom"],
    }


def _from_inside(bench: Bench, trace: Any, look: Look) -> Values:
    """What the tracing thread itself sees: it must see the State."""
    seen = list[bool]()
    trace(bench, lambda: seen.append(look(bench)))()
    return {"seen": any(seen)}


def _nobody_traces(bench: Bench, look: Look) -> Values:
    """What is seen while nobody traces: nothing."""
    return {"seen": look(bench)}


def _experiment(id: str, state: str, trace: Any, look: Look) -> Experiment:
    return Experiment(
        id=id,
        when=f"for {state}",
        rule=Rule(
            test=lambda values: bool(values["seen"]),
            true=f"{state} of one thread's trace is seen by a thread that traces nothing",
            false=f"{state} of one thread's trace is not seen by another thread",
        ),
        measured=lambda bench: _from_outside(bench, trace, look),
        control_true=lambda bench: _from_inside(bench, trace, look),
        control_false=lambda bench: _nobody_traces(bench, look),
    )


claim = Claim(
    id="C6",
    statement="FX tracing state is process-global",
    depends_on="the State",
    experiments=(
        _experiment("flag", "the tracing flag", programs.tracing, flag),
        _experiment("patcher", "the patcher", programs.tracing, patcher),
        _experiment("module-call", "the patched nn.Module.__call__", symbolic, module_call),
        _experiment("make-fx-tracer", "make_fx's tracer", programs.tracing, make_fx_tracer),
    ),
)
