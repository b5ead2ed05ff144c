"""Shapes of a drafter for Qwen3-8B at random weights, with a corpus of phrases: for speed.

Needs a GPU of 80 GB or more per slot. Weights are random, so features carry no signal: the loss
starts near ln V and falls to what token frequencies give, and acceptance says nothing.
"""

from __future__ import annotations

from harness.config import DrafterShape, Preset, TargetShape

preset = Preset(
    name="paper_8b",
    target=TargetShape(
        layers=36,
        hidden=4096,
        intermediate=12288,
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
