"""One schedule per hazard, forced by events. Each returns what went wrong; empty is good.

They run in a forked process (``forked.py``), because what they do without a guard poisons it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.fx._symbolic_trace import is_fx_tracing
from torch.fx.experimental.proxy_tensor import make_fx

from tests.unit.guards.parked import Parked, beside, told, until
from tests.unit.guards.pieces import (
    MODEL_NODES,
    Model,
    Symptoms,
    bad,
    compiling,
    made_by_make_fx,
    nodes,
    symbolic,
    warm,
)

sqrt = math.sqrt


def flag_beside_make_fx() -> Symptoms:
    compiled = warm()
    a = Parked(made_by_make_fx)
    b = beside(lambda: compiled(torch.ones(2)))
    return bad(b=b, a=a.go())


def flag_beside_compile() -> Symptoms:
    compiled = warm()
    a = Parked(compiling)
    b = beside(lambda: compiled(torch.ones(2)))
    return bad(b=b, a=a.go())


def eager_module_beside_trace() -> Symptoms:
    plain = torch.nn.Linear(2, 2)
    a = Parked(symbolic)
    b = beside(lambda: plain(torch.ones(2)))
    return bad(b=b, a=a.go())


def shared_module_beside_trace() -> Symptoms:
    models: list[Model] = []

    def work(pause: Callable[[], None]) -> Any:
        models.append(Model(pause))
        return torch.fx.Tracer().trace(models[0])

    a = Parked(work)
    b = beside(lambda: models[0].second(torch.ones(2)))
    graph = a.go()
    found = bad(b=b, a=graph)
    if not isinstance(b, torch.Tensor):
        found.append(f"b got a {type(b).__name__}")
    if not found and nodes(graph) != MODEL_NODES:
        found.append(f"a's graph has {nodes(graph)}")
    return found


def overlapping(one: Callable[..., Any], two: Callable[..., Any]) -> Symptoms:
    compiled, plain = warm(), torch.nn.Linear(2, 2)
    a = Parked(one)
    b = Parked(two, "B")
    found = bad(a=a.go(), b=b.go())
    found += bad(compiled_later=beside(lambda: compiled(torch.ones(2))))
    found += bad(eager_later=beside(lambda: plain(torch.ones(2))))
    return found


def overlapping_symbolic() -> Symptoms:
    return overlapping(symbolic, symbolic)


def overlapping_make_fx() -> Symptoms:
    return overlapping(made_by_make_fx, made_by_make_fx)


def compile_beside_trace() -> Symptoms:
    """B's compile takes A's patches off, so A's module calls are inlined."""
    a = Parked(symbolic)
    in_backend, go = threading.Event(), threading.Event()

    def backend(graph: Any, inputs: Any) -> Any:
        in_backend.set()
        go.wait(60)
        return graph.forward

    compiled = torch.compile(lambda x: x * 3, backend=backend)
    b = Parked(lambda pause: (pause(), compiled(torch.ones(2)))[1], "B")
    third = threading.Thread(target=lambda: b.go(), daemon=True)
    third.start()
    until(lambda: in_backend.is_set() or not third.is_alive())
    if not in_backend.is_set():
        return ["B did not come to its backend"]
    graph = a.go()
    go.set()
    third.join(60)
    found = bad(a=graph)
    if not found and nodes(graph) != MODEL_NODES:
        found.append(f"a's graph has {nodes(graph)}")
    return found


def is_compiling_elsewhere() -> Symptoms:
    a = Parked(compiling)
    b = beside(torch.compiler.is_compiling)
    own: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        own.append(torch.compiler.is_compiling())
        return graph.forward

    found = bad(a=a.go())
    if b:
        found.append("an idle thread sees is_compiling()")
    torch.compile(lambda x: x + 4, backend=backend)(torch.ones(2))
    if hasattr(torch.compiler, "_compile_session_context") and own != [True]:
        found.append("the compiling thread does not see is_compiling()")
    return found


def annotations() -> Symptoms:
    from torch.fx import traceback

    def annotating(pause: Callable[[], None]) -> None:
        with traceback.annotate({"a": 1}):
            pause()
            if traceback.current_meta.get("custom") != {"a": 1}:
                raise ValueError("its annotation is gone")

    def preserving(pause: Callable[[], None]) -> None:
        with traceback.preserve_node_meta():
            pause()

    b = Parked(preserving, "B")
    a = Parked(annotating)
    seen = beside(lambda: dict(traceback.get_current_meta()) or traceback.has_preserved_node_meta())
    found = bad(b=b.go(), a=a.go())
    if seen:
        found.append(f"an idle thread sees {seen}")
    return found


def tracer_elsewhere() -> Symptoms:
    def current() -> Any:
        from torch.fx.experimental.proxy_tensor import _CURRENT_MAKE_FX_TRACER

        return _CURRENT_MAKE_FX_TRACER

    mine: list[Any] = []

    def work(pause: Callable[[], None]) -> Any:
        return make_fx(lambda x: (mine.append(current()), pause(), x.sin())[2])(torch.ones(2))

    a = Parked(work)
    b = beside(current)
    found = bad(a=a.go())
    if b is not None:
        found.append("an idle thread has a make_fx tracer")
    if mine[0] is None:
        found.append("the tracing thread has none")
    return found


def autowrapped() -> Symptoms:
    """A's patch of ``sqrt`` in these globals must stay while B's trace needs it."""

    def root(pause: Callable[[], None]) -> Callable[[Any], Any]:
        def function(x: Any) -> Any:
            pause()
            return sqrt(x)

        return function

    def work(pause: Callable[[], None]) -> Any:
        return torch.fx.Tracer(autowrap_functions=(math.sqrt,)).trace(root(pause))

    found = overlapping(work, work)
    if globals()["sqrt"] is not math.sqrt:
        found.append("sqrt stays wrapped")
    return found


def same_thread_nesting() -> Symptoms:
    compiled, found = warm(), []
    for tracer in (torch.fx.symbolic_trace, lambda f: make_fx(f)(torch.ones(2))):
        try:
            tracer(lambda x: compiled(x))
            found.append("nested tracing was not refused")
        except RuntimeError as error:
            if "symbolically trace a dynamo-optimized" not in str(error):
                found.append(told(error))
    return found


def nested_call_after_anothers_trace() -> Symptoms:
    """A's own nested call is refused, although B's trace has begun and ended meanwhile."""
    compiled = warm()

    def work(pause: Callable[[], None]) -> Any:
        def nested(x: Any) -> Any:
            pause()
            return compiled(x)

        return torch.fx.symbolic_trace(nested)

    a = Parked(work)
    found = bad(b=beside(lambda: torch.fx.symbolic_trace(torch.nn.Linear(2, 2))))
    later = a.go()
    if "symbolically trace a dynamo-optimized" not in told(later):
        found.append(f"a's nested call was not refused: {told(later)}")
    return found + bad(compiled_later=beside(lambda: compiled(torch.ones(2))))


def nested_call_beside_a_subgraph() -> Symptoms:
    """The higher-order operators lower the flag while they trace a subgraph: in their thread."""
    from torch._higher_order_ops.utils import _set_compilation_env

    compiled = warm()

    def lowering(pause: Callable[[], None]) -> None:
        with _set_compilation_env():
            pause()

    def work(pause: Callable[[], None]) -> Any:
        return torch.fx.symbolic_trace(lambda x: (pause(), compiled(x))[1])

    a = Parked(work)
    b = Parked(lowering, "B")
    later = a.go()
    found = bad(b=b.go())
    if "symbolically trace a dynamo-optimized" not in told(later):
        found.append(f"a's nested call was not refused: {told(later)}")
    return found + bad(compiled_later=beside(lambda: compiled(torch.ones(2))))


def second_trace_after_the_first() -> Symptoms:
    """A ends while B, which came later, has its module calls still to make."""
    a = Parked(symbolic)
    b = Parked(symbolic, "B")
    first = a.go()
    second = b.go()
    found = bad(a=first, b=second)
    if not found and [nodes(first), nodes(second)] != [MODEL_NODES, MODEL_NODES]:
        found.append(f"graphs {nodes(first)}, {nodes(second)}")
    return found


def asked_while_others_trace() -> Symptoms:
    """Dynamo holds what a function asks by its code: a trace elsewhere must not change that."""
    graphs: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    def function(x: Any) -> Any:
        return x.sin() if torch.compiler.is_compiling() and not is_fx_tracing() else x.cos()

    compiled = torch.compile(function, backend=backend)
    results = [compiled(torch.ones(2))]
    for _ in range(3):
        a = Parked(symbolic)
        results.append(beside(lambda: compiled(torch.ones(2))))
        a.go()
        results.append(beside(lambda: compiled(torch.ones(2))))
    found = bad(**{f"call {number}": result for number, result in enumerate(results)})
    if not found and not all(torch.equal(one, torch.ones(2).sin()) for one in results):
        found.append(f"the calls gave {results}")
    return found + ([f"compiled {len(graphs)} times"] if len(graphs) != 1 else [])


def _halves(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))


def cond_works() -> Symptoms:
    x = torch.ones(2, requires_grad=True)
    eager = _halves(x)
    eager.sum().backward()
    graph = make_fx(_halves)(torch.ones(2)).graph
    found = []
    if not torch.allclose(x.grad, torch.ones(2).cos()):
        found.append("cond's gradient is wrong")
    if not any("cond" in str(node.target) for node in graph.nodes):
        found.append("make_fx does not see cond")
    return found
