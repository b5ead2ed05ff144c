"""What each loss part costs by itself: time forward and backward, and memory beyond its inputs.

``python -m tests.benchmarks.loss_cost [--preset paper_8b] [--anchors 512]`` prints one JSON line
per part and, for parts that can be recomputed, per kind of checkpoint. Inputs are one row's output
of the drafter and the frozen head, bf16 on a GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from harness import parts
from harness.config import DEFAULT_KNOBS, Preset
from harness.devices import devices_of
from tests.benchmarks.drafter_step import timed

TIMED = 10
SUBJECTS = (
    ("dense", "off"), ("chunked", "off"), ("chunked", "nonreentrant"),
    ("compiled_chunk", "nonreentrant"), ("fused_linear_ce", "off"),
)  # fmt: skip


def measure(preset: Preset, loss: str, checkpoint: str, device: str) -> dict[str, Any]:
    chosen = parts.select({**DEFAULT_KNOBS, "loss": loss, "checkpoint": checkpoint})
    build, shape, target = chosen["loss"].build, preset.drafter, preset.target
    on_gpu = device.startswith("cuda")
    made = build(preset, device=torch.device(device)) if loss not in ("dense", "chunked") else (
        build(preset)
    )  # fmt: skip
    keeper = chosen["checkpoint"].build()
    dtype = torch.bfloat16 if on_gpu else torch.float32
    head = torch.randn(target.vocab, target.hidden, device=device, dtype=dtype)
    head *= target.hidden**-0.5
    # As in a step: slot 0 of each block predicts nothing and is cut off.
    whole = torch.randn(preset.rows, shape.anchors, shape.block, target.hidden, device=device)
    whole = whole.to(dtype).requires_grad_()
    size = (preset.rows, shape.anchors, shape.block - 1)
    labels = torch.randint(0, target.vocab, size, device=device)
    weights = torch.rand(size, device=device)

    def step() -> None:
        terms = made.terms(whole[:, :, 1:], labels, weights, head, keeper)
        (terms.numerator / terms.denominator).backward()
        whole.grad = None

    for _ in range(3):
        step()
    before = 0
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
    seconds = sorted(timed(step, device, TIMED))
    return {
        "loss": loss, "checkpoint": checkpoint, "preset": preset.name, "anchors": shape.anchors,
        "ms": seconds[len(seconds) // 2] * 1e3, "ms_low": seconds[0] * 1e3,
        "ms_high": seconds[-1] * 1e3,
        "extra_bytes": torch.cuda.max_memory_allocated(device) - before if on_gpu else None,
    }  # fmt: skip


def results(preset: Preset, device: str) -> Iterator[dict[str, Any]]:
    for loss, checkpoint in SUBJECTS:
        try:
            yield measure(preset, loss, checkpoint, device)
        except torch.OutOfMemoryError as error:
            yield {"loss": loss, "checkpoint": checkpoint, "out_of_memory": str(error)[:300]}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--preset", default="paper_8b")
    parser.add_argument("--anchors", type=int, default=0)
    asked = parser.parse_args(arguments)
    preset = parts.load_preset(asked.preset)
    anchors = asked.anchors or preset.drafter.anchors
    preset = replace(preset, drafter=replace(preset.drafter, anchors=anchors))
    (device, *_) = devices_of(asked.device)
    for result in results(preset, device):
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
