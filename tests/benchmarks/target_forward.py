"""One target on one device, alone: how many drafters it can feed.

``python -m tests.benchmarks.target_forward [--preset paper_8b] [--drafter-ms 134.9]`` prints one
JSON line: the matrix ceiling of this device, then one per row length of the preset with the median
milliseconds for a batch of features, MFU (of bf16) and share of the ceiling. With the time of a
drafter's whole step (``drafter_step --whole``) also ``drafters_fed``: how many such drafters one
target keeps busy. A split with more drafters per target waits for features whatever else is right.
``--graphs off,manual`` launches its kernels or replays them, ``--plain`` leaves out those written
for targets.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from typing import Any

import torch

from harness import parts
from harness.config import Preset
from harness.devices import devices_of, peak_flops
from harness.figures import flops
from harness.model.layers import initialise
from harness.model.target import Target
from harness.roles import NO_WEIGHTS
from tests.benchmarks.drafter_step import TIMED, ceiling, profile, timed


def measure(
    target: Target, preset: Preset, context: int, cudagraphs: str, asked: argparse.Namespace
) -> dict[str, Any]:
    """The figures of one row length."""
    vocab, device = preset.target.vocab, str(target.embedding.device)
    tokens = torch.randint(0, vocab - 1, (preset.rows, context), device=device)
    graphs = parts.load("cudagraphs", cudagraphs).build()

    def forward() -> None:
        graphs.run((), (tokens,), lambda tokens: (target.features(tokens),), NO_WEIGHTS)

    seconds = sorted(timed(forward, device, TIMED))
    median, peak = seconds[len(seconds) // 2], peak_flops([device])
    work = preset.rows * flops.feature_flops(
        preset.target, preset.drafter.captures, context=context
    )
    return {
        "preset": preset.name, "precision": asked.precision, "plain": asked.plain,
        "cudagraphs": cudagraphs, "context": context,
        "batch_ms": median * 1e3, "batch_ms_low": seconds[1] * 1e3,
        "batch_ms_high": seconds[-2] * 1e3,
        "mfu": work / median / peak if peak else None,
        "of_ceiling": work / median / asked.ceiling,
        **({"drafters_fed": asked.drafter_ms / 1e3 / median} if asked.drafter_ms else {}),
        **(profile(forward) if asked.profile else {}),
    }  # fmt: skip


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="paper_8b")
    parser.add_argument("--precision", default="native")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--drafter-ms", type=float, default=0.0)
    parser.add_argument("--graphs", default="off")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--plain", action="store_true")
    asked = parser.parse_args(arguments)
    (device, *_) = devices_of(asked.device)
    asked.ceiling = ceiling(device)
    print(json.dumps({"ceiling_tflops": asked.ceiling / 1e12, "torch": torch.__version__}))
    preset = parts.load_preset(asked.preset)
    precision = parts.load("precision", asked.precision).build()
    dtype, _ = precision.dtypes(device.split(":")[0])
    with torch.device(device):
        target = Target(preset.target, preset.drafter.captures).to(dtype)
    initialise(target, torch.Generator(device).manual_seed(0))
    target = precision.target(target)
    if device.startswith("cuda") and not asked.plain:
        from harness.kernels.inference import quicken

        quicken(target, device)
    for context, graphs in itertools.product(preset.contexts, asked.graphs.split(",")):
        print(json.dumps(measure(target, preset, context, graphs, asked)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
