"""A step under activation checkpointing, and what traced in its forward and in its backward.

The chunked loss is the field report's: cross entropy over chunks of rows, each chunk checkpointed.
Stand-ins with a known answer are here too: a checkpoint that does trace, and functions that trace
once per grad mode or on every call, as a compile cache or an uncompiled flex_attention would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fxrace.probe.claims import _programs as programs
from fxrace.probe.claims._counts import COMPILED, LAZY_BACKWARD, TRACE
from fxrace.records.claims import Value

if TYPE_CHECKING:
    from fxrace.probe.claims._bench import Bench

ROWS, CHUNK, VOCABULARY, HIDDEN = 256, 32, 1024, 32


def reentrant(function: Any, *inputs: Any) -> Any:
    """``use_reentrant=True``: forward under no_grad, again inside backward."""
    from torch.utils.checkpoint import checkpoint

    return checkpoint(function, *inputs, use_reentrant=True)


def nonreentrant(function: Any, *inputs: Any) -> Any:
    """``use_reentrant=False``: forward with grad, again when backward wants what it dropped."""
    from torch.utils.checkpoint import checkpoint

    return checkpoint(function, *inputs, use_reentrant=False)


def unwrapped(function: Any, *inputs: Any) -> Any:
    """No checkpoint at all."""
    return function(*inputs)


def tracing(function: Any, *inputs: Any) -> Any:
    """A checkpoint that does what C4 says of torch's: it traces by itself in backward."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    class Tracing(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(_ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(_ctx: Any, upstream: Any) -> Any:
            return make_fx(torch.clone)(upstream)(upstream)

    return Tracing.apply(function(*inputs))


def chunk_loss(hidden: Any, labels: Any, head: Any) -> Any:
    """Cross entropy of one chunk, summed: logits [CHUNK, VOCABULARY] exist only in here."""
    import torch.nn.functional as F

    return F.cross_entropy(F.linear(hidden, head).float(), labels, reduction="sum")


def chunked_loss(bench: Bench, wrap: Any, function: Any = chunk_loss) -> Callable[[], Any]:
    """The forward of a loss over ROWS rows, chunk by chunk; gives the sum."""
    import torch

    hidden = torch.ones(ROWS, HIDDEN, device=bench.device, requires_grad=True)
    labels = torch.arange(ROWS, device=bench.device) % VOCABULARY
    head = torch.ones(VOCABULARY, HIDDEN, device=bench.device)

    def forward() -> Any:
        body = hidden * 2
        chunks = zip(body.split(CHUNK), labels.split(CHUNK), strict=True)
        return sum(wrap(function, rows, wanted, head) for rows, wanted in chunks)

    return forward


def traces(bench: Bench, forward: Callable[[], Any]) -> dict[str, Value]:
    """Traces, compiles and lazy backward compiles of one step, and where its backward traced."""
    with bench.counts.during() as ahead:
        loss = forward()
    with bench.counts.during() as back:
        loss.sum().backward()
    return {
        "forward_traces": ahead.of(TRACE),
        "backward_traces": back.of(TRACE),
        "backward_compiles": back.of(COMPILED) + back.of(LAZY_BACKWARD),
        "backward_threads": back.threads(TRACE),
    }


class Counted:
    """A function that counts its calls with grad, which are those that may trace."""

    def __init__(self, function: Any) -> None:
        self._function, self.with_grad = function, 0

    def __call__(self, *inputs: Any) -> Any:
        import torch

        self.with_grad += torch.is_grad_enabled()
        return self._function(*inputs)


def traces_every_call(bench: Bench) -> Any:
    """A function that traces whenever it is called."""
    trace = programs.tracing(bench)

    def function(x: Any) -> Any:
        trace()
        return x.sin()

    return function


def traces_once_per_grad_mode(bench: Bench) -> Any:
    """A function that traces when it meets a grad mode for the first time: a compile in little."""
    import torch

    trace, met = programs.tracing(bench), set[bool]()

    def function(x: Any) -> Any:
        mode = torch.is_grad_enabled()
        if mode not in met:
            met.add(mode)
            trace()
        return x.sin()

    return function
