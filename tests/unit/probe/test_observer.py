"""The observer changes nothing: graphs, guards and counts are the same with hooks and without.

Each of the programs is compiled with a backend that writes down the code of every graph it gets,
bare and under every hook with pressure that listens, each for two shapes. Guards are compared as
text, without addresses and running numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list
from torch.utils.checkpoint import checkpoint

from fxrace.probe.attach import attached
from fxrace.records.trial import Trial
from tests.unit.probe.recording import Recording

Program = Callable[[torch.Tensor], Any]
#: Addresses, ids, and names that Dynamo numbers through the process.
_CHANGING = re.compile(r"0x[0-9a-f]+|\b\d{6,}\b|(?<=__builtins_dict___)\d+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiled:
    """What a program became."""

    graphs: tuple[str, ...]
    guards: tuple[str, ...]
    entries: int
    results: tuple[str, ...]


def module(*layers: torch.nn.Module) -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(*layers)


def branch(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.shape[0] > 3 else x - 1


def broken(x: torch.Tensor) -> torch.Tensor:
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos()


def looping(x: torch.Tensor) -> torch.Tensor:
    for power in range(3):
        x = x * power + x
    return x


def closing(factor: float) -> Program:
    return lambda x: x * factor


def structured(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"sum": x.sum(), "pair": torch.stack((x, x)).mean()}


def no_grad(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return x.exp()


def autocast(x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x @ x.T


def recomputed(x: torch.Tensor) -> torch.Tensor:
    return checkpoint(lambda y: y.sin().cos(), x, use_reentrant=False)


def conditional(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,))


def scalar(x: torch.Tensor) -> torch.Tensor:
    return x + x.sum().item()


def gradient(x: torch.Tensor) -> torch.Tensor:
    y = x.detach().requires_grad_()
    (y * y).sum().backward()
    return y.grad if y.grad is not None else y


def attention(x: torch.Tensor) -> torch.Tensor:
    q = x.reshape(1, 1, *x.shape)
    return torch.nn.functional.scaled_dot_product_attention(q, q, q)


def annotated(x: torch.Tensor) -> torch.Tensor:
    with torch.fx.traceback.annotate({"stage": 1}):
        return x.sin() * 2


PROGRAMS: dict[str, Callable[[], Program]] = {
    "add": lambda: lambda x: x + 1,
    "chain": lambda: lambda x: (x.sin() * x.cos()).tanh(),
    "matmul": lambda: lambda x: x @ x.T,
    "in_place": lambda: lambda x: x.clone().add_(2).mul_(3),
    "views": lambda: lambda x: x.t().reshape(-1)[1:].unsqueeze(0),
    "reduce": lambda: lambda x: x.sum(0) / x.norm(),
    "index": lambda: lambda x: x[:, 0] + x[0, :].sum(),
    "where": lambda: lambda x: torch.where(x > 0, x, -x),
    "cat": lambda: lambda x: torch.cat((x, x * 2)),
    "dtype": lambda: lambda x: x.to(torch.float64).to(torch.int32),
    "create": lambda: lambda x: x + torch.arange(x.shape[1]),
    "softmax": lambda: lambda x: x.softmax(-1).log(),
    "tuple": lambda: lambda x: (x + 1, x.max(), 3),
    "einsum": lambda: lambda x: torch.einsum("ij,kj->ik", x, x),
    "closure": lambda: closing(2.5),
    "branch": lambda: branch,
    "graph_break": lambda: broken,
    "loop": lambda: looping,
    "dict": lambda: structured,
    "no_grad": lambda: no_grad,
    "autocast": lambda: autocast,
    "checkpoint": lambda: recomputed,
    "cond": lambda: conditional,
    "item": lambda: scalar,
    "backward": lambda: gradient,
    "attention": lambda: attention,
    "annotate": lambda: annotated,
    "linear": lambda: module(torch.nn.Linear(4, 3)),
    "mlp": lambda: module(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2)),
    "norm": lambda: module(torch.nn.LayerNorm(4), torch.nn.ReLU()),
    "dropout": lambda: module(torch.nn.Dropout(0.5), torch.nn.Linear(4, 4)),
    "vmap": lambda: torch.vmap(lambda row: row * row.sum()),
    "grad": lambda: torch.func.grad(lambda x: x.sin().sum()),
}

#: Torch itself guards the first compile of these otherwise than the second.
FIRST_DIFFERS = frozenset({"cond", "grad", "vmap"})


def compiled(make: Callable[[], Program]) -> Compiled:
    torch._dynamo.reset()
    torch.manual_seed(1)
    program, graphs = make(), list[str]()

    def backend(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        graphs.append(graph.print_readable(print_output=False))
        return graph.forward

    run = torch.compile(program, backend=backend)
    results = [str(run(torch.linspace(-1, 1, size * 4).reshape(size, 4))) for size in (3, 5)]
    code = getattr(program, "forward", program)
    code = getattr(code, "__code__", None)
    entries = _debug_get_cache_entry_list(code) if code is not None else []
    return Compiled(
        graphs=tuple(_CHANGING.sub("", text) for text in graphs),
        guards=tuple(_CHANGING.sub("", str(entry.guard_manager)) for entry in entries),
        entries=len(entries),
        results=tuple(results),
    )


@pytest.fixture(scope="module", autouse=True)
def first_compile_of_the_process() -> None:
    """What a process does once belongs to neither side of the comparison."""
    compiled(PROGRAMS["add"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_guards_and_counts_are_the_same(tmp_path: Path, name: str) -> None:
    if name in FIRST_DIFFERS:
        compiled(PROGRAMS[name])
    bare = compiled(PROGRAMS[name])
    hooks = attached(
        Trial(target="t:run", knobs={"pressure": "hold"}), Recording(tmp_path).recorder
    )
    with hooks:
        watched = compiled(PROGRAMS[name])
    assert bare.graphs
    assert watched == bare


def test_there_are_at_least_thirty_and_guards_are_compared() -> None:
    assert len(PROGRAMS) >= 30
    assert compiled(PROGRAMS["add"]).guards
    assert compiled(PROGRAMS["mlp"]).graphs != compiled(PROGRAMS["linear"]).graphs


def test_a_hook_that_dynamo_sees_would_be_noticed() -> None:
    """The comparison can fail: one more operation on the way makes another graph."""
    bare = compiled(lambda: lambda x: x + 1)
    assert compiled(lambda: lambda x: (x + 1) * 1) != bare
