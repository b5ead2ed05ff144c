"""The same experiments in a torch whose fault is taken out, or put in: they say the opposite.

In forks of a process that has torch and has done nothing with it, as ``fxrace claims`` runs them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fxrace.launch.script_forks import ScriptForks
from fxrace.probe.claims import known
from fxrace.records.claims import Answer

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[3]
PER_THREAD_FLAG = """
import threading
from torch.fx import _symbolic_trace as fx
tracing, trace = threading.local(), fx.Tracer.trace

def own_trace(self, *args, **kwargs):
    before, tracing.now = getattr(tracing, "now", False), True
    try:
        return trace(self, *args, **kwargs)
    finally:
        tracing.now = before

fx.Tracer.trace = own_trace
fx.is_fx_tracing = fx.is_fx_symbolic_tracing = lambda: getattr(tracing, "now", False)
"""
TRACING_CHECKPOINT = """
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import CheckpointFunction
backward = CheckpointFunction.backward

def tracing(ctx, *upstream):
    make_fx(torch.clone)(upstream[0])
    return backward(ctx, *upstream)

CheckpointFunction.backward = staticmethod(tracing)
"""
KEEPING_CHECKPOINT = """
from torch.utils import checkpoint
original, kept = checkpoint._CheckpointFrame.__init__, []

def keeping(self, recompute_fn, *args, **kwargs):
    def recompute(*inputs):
        try:
            return recompute_fn(*inputs)
        except BaseException as stopped:
            kept.append(stopped)  # with its frames, and all that they recomputed
            raise

    original(self, recompute, *args, **kwargs)

checkpoint._CheckpointFrame.__init__ = keeping
"""
MEASURE = """
import json, sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {root!r})
from fxrace.probe.claims import known
from fxrace.probe.claims._bench import bench_on
import torch._dynamo.trace_rules as rules
rules.add("fxrace.probe")
with bench_on("cpu") as bench:
    values = known()[sys.argv[1]].experiment(sys.argv[2]).measured(bench)
print("VALUES", json.dumps(dict(values)), flush=True)
import os; os._exit(0)
"""


Ask = Callable[[str, str, str], Answer]


@pytest.fixture(scope="module")
def forks() -> Iterator[ScriptForks]:
    with ScriptForks(Path(sys.executable)) as found:
        assert found.usable
        yield found


@pytest.fixture
def answer(forks: ScriptForks, tmp_path: Path) -> Ask:
    """What the experiment says in a fresh process with the mutation applied first."""

    def asked(claim: str, experiment: str, mutation: str) -> Answer:
        script = tmp_path / "measure.py"
        script.write_text(mutation + MEASURE.format(root=str(ROOT)))
        end = forks.run(script, claim, experiment, timeout_s=120, give_up=lambda: False)
        assert end.line.startswith("VALUES "), end.error
        values: dict[str, Any] = json.loads(end.line.partition(" ")[2])
        return known()[claim].experiment(experiment).rule(values).answer

    return asked


@pytest.mark.skipif(
    torch.__version__.startswith(("2.14", "2.15")), reason="the flag is per thread already"
)
@pytest.mark.parametrize(("claim", "experiment"), [("C6", "flag"), ("C7", "trace-call")])
def test_a_flag_of_its_own_per_thread(claim: str, experiment: str, answer: Ask) -> None:
    assert answer(claim, experiment, "") is Answer.TRUE
    assert answer(claim, experiment, PER_THREAD_FLAG) is Answer.FALSE


def test_a_checkpoint_that_traces(answer: Ask) -> None:
    assert answer("C4", "alone", "") is Answer.FALSE
    assert answer("C4", "alone", TRACING_CHECKPOINT) is Answer.TRUE


def test_a_recompute_that_is_not_let_go(answer: Ask) -> None:
    assert answer("C9", "loss", "") is Answer.FALSE
    assert answer("C9", "loss", KEEPING_CHECKPOINT) is Answer.TRUE
