"""The same experiments in a torch whose fault is taken out, or put in: they say the opposite."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
from fxrace.probe.claims import known
from fxrace.probe.claims._bench import bench_on
import torch._dynamo.trace_rules as rules
rules.add("fxrace.probe")
with bench_on("cpu") as bench:
    values = known()[sys.argv[1]].experiment(sys.argv[2]).measured(bench)
print("VALUES", json.dumps(dict(values)), flush=True)
import os; os._exit(0)
"""


def answer(claim: str, experiment: str, mutation: str) -> Answer:
    """What the experiment says in a fresh process with the mutation applied first."""
    ran = subprocess.run(
        [sys.executable, "-c", mutation + MEASURE, claim, experiment], cwd=ROOT,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    lines = [line for line in ran.stdout.splitlines() if line.startswith("VALUES ")]
    assert lines, ran.stderr
    values: dict[str, Any] = json.loads(lines[0].partition(" ")[2])
    return known()[claim].experiment(experiment).rule(values).answer


@pytest.mark.skipif(
    torch.__version__.startswith(("2.14", "2.15")), reason="the flag is per thread already"
)
@pytest.mark.parametrize(("claim", "experiment"), [("C6", "flag"), ("C7", "trace-call")])
def test_a_flag_of_its_own_per_thread(claim: str, experiment: str) -> None:
    assert answer(claim, experiment, "") is Answer.TRUE
    assert answer(claim, experiment, PER_THREAD_FLAG) is Answer.FALSE


def test_a_checkpoint_that_traces() -> None:
    assert answer("C4", "alone", "") is Answer.FALSE
    assert answer("C4", "alone", TRACING_CHECKPOINT) is Answer.TRUE


def test_a_recompute_that_is_not_let_go() -> None:
    assert answer("C9", "loss", "") is Answer.FALSE
    assert answer("C9", "loss", KEEPING_CHECKPOINT) is Answer.TRUE
