"""The little programs that experiments run: compiled functions, attention, a chunked loss, traces.

torch is imported inside, so that claims can be listed without it. Every program checks its own
result: a wrong one is an AssertionError, and so a failure like any other.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fxrace.probe.claims._bench import Bench

Work = Callable[[], Any]
#: flex_attention's blocks are 128 long.
LENGTH, HEADS, WIDTH = 128, 2, 16
_numbers = itertools.count()


def fresh(function: Any) -> Any:
    """The same function with a code object of its own: Dynamo's cache hangs on the code object.

    It also gets a file of its own, since Dynamo is told to pass over what is in this package.
    """
    name = f"{function.__code__.co_name}_{next(_numbers)}"
    code = function.__code__.replace(co_name=name, co_filename="claims_program.py")
    made = types.FunctionType(
        code, function.__globals__, code.co_name, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def plain(x: Any) -> Any:
    """What gets compiled where it does not matter what it is."""
    return x.sin() + x * x


def compiled(function: Any = plain, backend: Any = "eager") -> Any:
    """A compiled function that Dynamo has seen nothing of; static shapes."""
    import torch

    return torch.compile(fresh(function), backend=backend, dynamic=False)


def vector(bench: Bench, size: int = 8) -> Any:
    """A vector that wants a gradient."""
    import torch

    return torch.ones(size, device=bench.device, requires_grad=True)


def matmuls(x: Any) -> Any:
    """Its backward is one that inductor's pattern matcher rewrites, and traces to do so."""
    import torch

    return torch.nn.functional.gelu(x @ x.T) @ x + x


def calling(function: Any, x: Any) -> Work:
    """A call that must give what ``plain`` gives."""
    import torch

    expected = plain(x.detach())

    def call() -> None:
        assert torch.allclose(function(x).detach(), expected), "a wrong number"

    return call


def flex(bench: Bench) -> Any:
    """flex_attention, trainable on this device.

    On the CPU its public device check refuses gradients; the operator behind it does not.
    """
    import torch.nn.attention.flex_attention as module

    if not bench.cuda and hasattr(module, "_validate_device"):
        module._validate_device = _any_device
    return module.flex_attention


def _any_device(query: Any, key: Any, value: Any) -> None:
    """Stands in for flex_attention's device check."""


def heads(bench: Bench, length: int = LENGTH) -> Any:
    """[1, HEADS, length, WIDTH], wants a gradient; used as query, key and value at once."""
    import torch

    made = torch.linspace(-1, 1, HEADS * length * WIDTH, device=bench.device)
    return made.reshape(1, HEADS, length, WIDTH).requires_grad_()


def dense(x: Any) -> Any:
    """Attention of x with itself, all scores at once: what every flex_attention must equal."""
    return (x @ x.transpose(-1, -2) / WIDTH**0.5).softmax(-1) @ x


def attending(bench: Bench, attention: Any, length: int = LENGTH) -> Work:
    """Attention, forward, that must equal the dense one."""
    import torch

    x = heads(bench, length)
    expected = dense(x.detach())

    def attend() -> None:
        out = attention(x, x, x).detach()
        assert torch.allclose(out, expected, atol=1e-2), "wrong attention"

    return attend


def tracing(bench: Bench, body: Work | None = None) -> Work:
    """A bare make_fx; ``body`` is called once in the middle of it. The graph is checked."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    x = torch.ones(4, device=bench.device)

    def traced(x: Any) -> Any:
        if body is not None:
            body()
        return x.cos()

    def trace() -> None:
        graph = make_fx(traced)(x)
        assert torch.equal(graph(x), x.cos()), "a wrong graph"

    return trace


def nop(work: Any = None) -> None:
    """Nothing, for the side that has nothing to do."""


def under(lock: Any, work: Work) -> Work:
    """The same work with a lock held."""

    def locked() -> Any:
        with lock:
            return work()

    return locked


def tracing_backward() -> Any:
    """A backend whose backward compiler traces, as inductor's pattern matcher does, and cheaply."""
    from functorch.compile import make_boxed_func  # type: ignore[import-untyped, unused-ignore]
    from torch._dynamo.backends.common import aot_autograd
    from torch.fx.experimental.proxy_tensor import make_fx

    def forward(graph: Any, _inputs: Any) -> Any:
        return make_boxed_func(graph.forward)

    def backward(graph: Any, inputs: Any) -> Any:
        return make_boxed_func(make_fx(graph)(*inputs).forward)

    return aot_autograd(fw_compiler=forward, bw_compiler=backward)
