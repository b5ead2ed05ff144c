"""A reference is compared with plain PyTorch before anything is compared with it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fxrace.core.curve import unlike_plain
from harness import parts, self_check
from harness.attention.dense import Dense
from harness.model.layers import Heads, initialise
from harness.model.target import Target
from harness.model.training import Batch
from harness.step import Drafting
from tests.acceptance.sweeping import PLANTED
from tests.unit.harness_threads.trials import losses, run_trial

FAST = {"attention": "flex_isolated", "layers": "compiled", "loss": "fused_linear_ce"}
ROUNDING = {"native": 1e-5, "bf16_masters": 0.05}
"""Seen on the CPU: 6e-7 and 0.009."""


@pytest.mark.parametrize("precision", ROUNDING)
@pytest.mark.parametrize("parts", [{}, FAST], ids=["default", "fast"])
def test_sound_kernels_differ_by_rounding(
    tmp_path: Path, parts: dict[str, str], precision: str
) -> None:
    trace = run_trial(tmp_path, {**parts, "precision": precision, "execution": "oracle"})
    (event,) = trace.of("plain")
    assert 0 < event.data["distance"] < ROUNDING[precision] < event.data["allowed"]


def test_a_wrong_gradient_is_seen_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its forward is right, so only gradients can tell."""
    monkeypatch.setenv("FXRACE_PARTS", str(PLANTED))
    trace = run_trial(tmp_path, {"attention": "wrong_keys", "execution": "oracle"})
    (event,) = trace.of("plain")
    assert event.data["distance"] > 10 * event.data["allowed"]
    assert event.data["where"].endswith(("key_value.weight", "key_norm.weight"))


@pytest.mark.parametrize("off", [0.0, 0.3])
def test_a_targets_wrong_kernel_is_seen_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: float
) -> None:
    """It is wrong where no gradient flows, as kernels for frozen targets would be; drafters are
    right on what they are given.
    """
    merge = Heads.merge

    def misled(heads: Heads, states: Tensor) -> Tensor:
        return merge(heads, states if torch.is_grad_enabled() else states * (1 + off))

    monkeypatch.setattr(Heads, "merge", misled)
    trace = run_trial(tmp_path, {"attention": "dense", "execution": "oracle"})
    (event,) = trace.of("plain")
    assert (event.data["distance"] > event.data["allowed"]) is bool(off)
    assert ("target" in str(unlike_plain(trace))) is bool(off)


@pytest.mark.parametrize("precision", ["fp32", "bf16_masters", "fp8_target"])
def test_what_is_rounding_in_a_target_depends_on_its_format(precision: str) -> None:
    made = parts.load("precision", precision).build()
    dtype, _ = made.dtypes("cpu")
    preset = parts.load_preset("small")
    target = Target(preset.target, preset.drafter.captures).to(dtype)
    initialise(target, torch.Generator().manual_seed(0))
    tokens = torch.arange(96)[None]
    batch = Batch(input_ids=tokens, loss_mask=tokens > 0, features=torch.zeros(1))
    found = self_check._first_layer(made.target(target), batch)
    allowed = {"fp32": 0.01, "bf16_masters": 0.1, "fp8_target": 0.2}[precision]
    assert 0 < 2 * found.distance < found.allowed == allowed


def test_nothing_is_learned_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = {"attention": "dense", "execution": "oracle"}
    checked = run_trial(tmp_path, alone)
    assert list(checked.of("plain"))
    monkeypatch.setattr(self_check, "compare", lambda *_: None)
    unchecked = run_trial(tmp_path, alone)
    assert not list(unchecked.of("plain"))
    assert losses(checked) == losses(unchecked)


def test_what_is_no_number_is_farthest_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attend = Dense.attend

    def spoils(part: Dense, q: Tensor, k: Tensor, *others: Any) -> Tensor:
        if type(part) is not Dense:
            k.register_hook(lambda gradient: gradient * torch.nan)
        return attend(part, q, k, *others)

    monkeypatch.setattr(Dense, "attend", spoils)
    monkeypatch.setenv("FXRACE_PARTS", str(PLANTED))
    trace = run_trial(tmp_path, {"attention": "wrong_keys", "execution": "oracle"}, steps=2)
    assert [event.data["distance"] for event in trace.of("plain")] == [math.inf]
    assert unlike_plain(trace) is not None


def test_too_little_memory_for_it_is_said_and_costs_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where gradients are there already when memory runs out."""
    alone = {"attention": "dense", "execution": "oracle"}
    undisturbed = run_trial(tmp_path, alone)
    backward = Drafting._backward

    def full(drafting: Drafting, batch: Batch, *others: Any) -> Any:
        figures = backward(drafting, batch, *others)
        if len(others) == 2 and others[1] is not drafting._gear:
            raise torch.OutOfMemoryError("planted")
        return figures

    monkeypatch.setattr(Drafting, "_backward", full)
    trace = run_trial(tmp_path, alone)
    assert not list(trace.of("plain", "raised"))
    assert [event.data["what"] for event in trace.of("blind")] == [self_check.UNSEEN]
    assert losses(trace) == losses(undisturbed)
