"""Shapes of a drafter for Qwen3-4B at random weights; otherwise as paper_8b."""

from __future__ import annotations

from harness.config import DrafterShape, Preset, TargetShape

preset = Preset(
    name="paper_4b",
    target=TargetShape(
        layers=36,
        hidden=2560,
        intermediate=9728,
        heads=32,
        kv_heads=8,
        head_dim=128,
        vocab=151936,
    ),
    drafter=DrafterShape(layers=5, captures=5, block=16, anchors=512, gamma=7.0),
    contexts=(3072, 2048, 4096),
    rows=1,
    steps=250,
    chunk_blocks=128,
    queue_depth=4,
    compiled_layers=True,
    shared_cache=True,
)
