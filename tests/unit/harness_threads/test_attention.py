"""Compiled attention compiles once per shape, and a dense fall does not go unseen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.attention.flex_attention as flex
from torch import Tensor

from fxrace.probe.recorder import Recorder
from harness.contracts import Attention
from harness.figures.compiles import count_compiles
from harness.figures.counters import Counters
from harness.parts import load
from tests.unit.harness_threads.trials import read

ROWS, ANCHORS, BLOCK = 2, 4, 8


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.fixture
def counters(record: Path) -> Iterator[Counters]:
    torch._dynamo.reset()
    recorder = Recorder(record)
    counters = Counters(recorder)
    yield counters
    counters.finish(fused=True)
    recorder.close()


def built(name: str, counters: Counters, drafter: int = 0) -> Attention:
    live: Attention = load("attention", name).build(torch.device("cpu"), drafter, counters)
    return live


def step(attention: Attention, context: int, seed: int, *since: Tensor) -> Tensor:
    """One forward and backward on fresh anchors; the gradient of the queries."""
    generator = torch.Generator().manual_seed(seed)
    anchors = torch.randint(1, context - 1, (ROWS, ANCHORS), generator=generator).sort().values
    keep = torch.ones(ROWS, ANCHORS, dtype=torch.bool)
    slots = ANCHORS * BLOCK
    q = torch.randn(ROWS, 4, slots, 16, generator=generator, requires_grad=True)
    k, v = (torch.randn(ROWS, 2, context + slots, 16, generator=generator) for _ in range(2))
    plan = attention.plan(anchors, keep, context, BLOCK, *since)
    attention.attend(q, k, v, plan).sum().backward()
    assert q.grad is not None
    return q.grad


def test_new_batches_of_known_shapes_do_not_recompile(counters: Counters) -> None:
    compiles = count_compiles(counters)
    attention = built("flex", counters)
    seen = []
    for context, seed in ((32, 0), (32, 1), (48, 2), (48, 3), (32, 4)):
        step(attention, context, seed)
        seen.append(compiles.here)
    assert seen == [1, 1, 2, 2, 2]
    assert counters.dense.by_name() == {}


def test_new_borders_do_not_recompile(counters: Counters) -> None:
    compiles = count_compiles(counters)
    attention = built("flex", counters)
    seen = []
    for context, seed in ((32, 0), (32, 1), (48, 2), (48, 3), (32, 4)):
        step(attention, context, seed, torch.full((ROWS, ANCHORS), seed))
        seen.append(compiles.here)
    assert seen == [1, 1, 2, 2, 2]


def test_drafters_share_what_was_compiled(counters: Counters) -> None:
    compiles = count_compiles(counters)
    for drafter in range(2):
        step(built("flex", counters, drafter), 32, drafter)
    assert compiles.here == 1


def test_past_the_recompile_limit_dense_calls_are_counted(counters: Counters) -> None:
    attention = built("flex", counters)
    limit = "recompile_limit" if hasattr(torch._dynamo.config, "recompile_limit") else (
        "cache_size_limit"
    )  # fmt: skip
    with torch._dynamo.config.patch({limit: 1}):
        step(attention, 32, 0)
        assert counters.dense.here == 0
        step(attention, 48, 1)
    assert counters.dense.here == 1


def test_eager_attention_is_dense_every_time(counters: Counters) -> None:
    attention = built("flex_eager", counters)
    for seed in range(3):
        step(attention, 32, seed)
    assert counters.dense.by_name() == {"MainThread": 3}


def test_hooks_come_off_and_notes_are_said_once(counters: Counters, record: Path) -> None:
    check, entrance = flex._validate_device, flex.setup_compilation_env
    for drafter in range(2):
        built("flex", counters, drafter)
    assert flex._validate_device is not check
    counters.finish(fused=True)
    assert flex._validate_device is check
    assert flex.setup_compilation_env is entrance
    assert len([e for e in read(record).of("note") if "device check" in e.data["text"]]) == 1


def test_an_unknown_torch_is_blind_not_clean(
    counters: Counters, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.kernels.flex_path._ENTRANCES", ("surely_not_there",))
    built("flex", counters)
    assert [e.data["what"] for e in read(record).of("blind")] == ["dense attention"]
