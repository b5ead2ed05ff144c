"""C8: does uncompiled flex_attention materialise the scores?

Measured as memory, not read in the source: the peak of a call against the size of all scores. The
control is attention that never holds them: blocks of keys on a CPU, compiled flex_attention on a
GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fxrace.core.claims import Rule
from fxrace.probe.claims import Claim, Experiment
from fxrace.probe.claims import _programs as programs
from fxrace.probe.claims._memory import peak_bytes
from fxrace.records.claims import Values

if TYPE_CHECKING:
    from fxrace.probe.claims._bench import Bench

#: Long enough that all scores outweigh every other tensor of a call by far.
LENGTH, BLOCK, BYTES = 1024, 64, 4
RULE = Rule(
    test=lambda values: values["peak_bytes"] >= values["scores_bytes"],  # type: ignore[operator]
    true="the peak of a call, {peak_bytes:,} bytes, holds all scores ({scores_bytes:,} bytes)",
    false="the peak of a call, {peak_bytes:,} bytes, is below all scores ({scores_bytes:,} bytes)",
)


def _measured(bench: Bench, attention: Any, *, train: bool) -> Values:
    import torch

    x = programs.heads(bench, LENGTH)

    def call() -> None:
        with torch.set_grad_enabled(train):
            out = attention(x, x, x)
        if train:
            out.sum().backward()
            x.grad = None

    scores = programs.HEADS * LENGTH * LENGTH * BYTES
    return {"peak_bytes": peak_bytes(bench, call), "scores_bytes": scores}


def _dense(q: Any, _k: Any, _v: Any) -> Any:
    return programs.dense(q)


def _in_blocks(q: Any, k: Any, v: Any) -> Any:
    """Exact attention that holds BLOCK columns of scores at a time (an online softmax)."""
    import torch

    top = torch.full_like(q[..., :1], float("-inf"))
    total, out = torch.zeros_like(top), torch.zeros_like(q)
    for keys, values in zip(k.split(BLOCK, dim=-2), v.split(BLOCK, dim=-2), strict=True):
        scores = q @ keys.transpose(-1, -2) / programs.WIDTH**0.5
        now = torch.maximum(top, scores.amax(-1, keepdim=True))
        shares, kept = (scores - now).exp(), (top - now).exp()
        total = total * kept + shares.sum(-1, keepdim=True)
        out, top = out * kept + shares @ values, now
    return out / total


def _forward(bench: Bench) -> Values:
    return _measured(bench, programs.flex(bench), train=False)


def _training(bench: Bench) -> Values:
    return _measured(bench, programs.flex(bench), train=True)


def _all_scores(bench: Bench) -> Values:
    """Softmax over an explicit score matrix."""
    return _measured(bench, _dense, train=False)


def _no_scores(bench: Bench) -> Values:
    import torch

    if bench.cuda:
        fused = torch.compile(programs.flex(bench), dynamic=False)
        return _measured(bench, fused, train=True)
    return _measured(bench, _in_blocks, train=False)


def _experiment(id: str, when: str, measured: Any) -> Experiment:
    return Experiment(
        id=id,
        when=when,
        rule=RULE,
        measured=measured,
        control_true=_all_scores,
        control_false=_no_scores,
    )


claim = Claim(
    id="C8",
    statement="uncompiled flex_attention falls back to a dense path that materialises scores",
    depends_on="forward or training",
    experiments=(
        _experiment("forward", "in a forward", _forward),
        _experiment("training", "in a forward and backward", _training),
    ),
)
