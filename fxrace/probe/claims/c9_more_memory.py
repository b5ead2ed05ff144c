"""C9: does use_reentrant=False cost more memory?

The peak of a whole step with either kind, as a ratio. Both keep the inputs of what they wrap and
run it again; the other kind also stops as soon as backward has what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fxrace.core.claims import Rule
from fxrace.probe.claims import Claim, Experiment
from fxrace.probe.claims import _checkpointed as checkpointed
from fxrace.probe.claims import _programs as programs
from fxrace.probe.claims._memory import peak_bytes
from fxrace.records.claims import Values

if TYPE_CHECKING:
    from fxrace.probe.claims._bench import Bench

#: Allocators round and keep small blocks; less than this is called no difference.
TOLERANCE = 0.05
LAYERS = 6
RULE = Rule(
    test=lambda values: values["ratio"] > 1 + TOLERANCE,  # type: ignore[operator]
    true="its peak is {ratio} times that of use_reentrant=True ({other} to {reentrant} bytes)",
    false="its peak is {ratio} times that of use_reentrant=True ({other} to {reentrant} bytes), "
    f"and up to {1 + TOLERANCE} is called equal",
)


def _compared(bench: Bench, step: Any, other: Any = checkpointed.nonreentrant) -> Values:
    """``step(wrap)`` gives a forward; its peak with ``other`` against use_reentrant=True."""
    reentrant = _peak(bench, step(checkpointed.reentrant))
    beside = _peak(bench, step(other))
    return {"reentrant": reentrant, "other": beside, "ratio": round(beside / reentrant, 3)}


def _peak(bench: Bench, forward: Any) -> int:
    return peak_bytes(bench, lambda: forward().backward())


def _loss(bench: Bench, function: Any = checkpointed.chunk_loss) -> Any:
    return lambda wrap: checkpointed.chunked_loss(bench, wrap, function)


def _layers(bench: Bench) -> Any:
    """A stack of checkpointed layers, whose activations are what a checkpoint is for."""
    import torch

    wide, narrow = (
        torch.ones(shape, device=bench.device, requires_grad=True)
        for shape in ((4 * checkpointed.HIDDEN, checkpointed.HIDDEN),
                      (checkpointed.HIDDEN, 4 * checkpointed.HIDDEN))
    )  # fmt: skip
    x = torch.ones(checkpointed.ROWS, checkpointed.HIDDEN, device=bench.device, requires_grad=True)

    def layer(x: Any) -> Any:
        return torch.nn.functional.gelu(x @ wide.T) @ narrow.T

    def step(wrap: Any) -> Any:
        def forward() -> Any:
            out = x
            for _ in range(LAYERS):
                out = out + wrap(layer, out)
            return out.sum()

        return forward

    return step


def _eager(bench: Bench) -> Values:
    return _compared(bench, _loss(bench))


def _compiled(bench: Bench) -> Values:
    function = programs.compiled(checkpointed.chunk_loss, bench.backend)
    return _compared(bench, _loss(bench, function))


def _stacked(bench: Bench) -> Values:
    return _compared(bench, _layers(bench))


def _nothing_dropped(bench: Bench) -> Values:
    """No checkpoint at all in place of the other kind: it must be seen to cost more."""
    return _compared(bench, _loss(bench), checkpointed.unwrapped)


def _the_same(bench: Bench) -> Values:
    """use_reentrant=True against itself."""
    return _compared(bench, _loss(bench), checkpointed.reentrant)


def _experiment(id: str, when: str, measured: Any) -> Experiment:
    return Experiment(
        id=id,
        when=when,
        rule=RULE,
        measured=measured,
        control_true=_nothing_dropped,
        control_false=_the_same,
    )


claim = Claim(
    id="C9",
    statement="use_reentrant=False costs more memory",
    depends_on="what is checkpointed",
    experiments=(
        _experiment("loss", "for a chunked loss", _eager),
        _experiment("compiled-loss", "for a compiled chunked loss", _compiled),
        _experiment("layers", "for a stack of layers", _stacked),
    ),
)
