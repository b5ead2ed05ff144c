"""Trains in seconds on one CPU core: every strategy, real learning, no GPU.

Two row lengths, so that new shapes reach the compiler in the middle of a run.
"""

from __future__ import annotations

from harness.config import DrafterShape, Preset, TargetShape

preset = Preset(
    name="tiny",
    target=TargetShape(
        layers=4,
        hidden=48,
        intermediate=144,
        heads=4,
        kv_heads=2,
        head_dim=16,
        vocab=64,
        train_steps=220,
        train_rows=8,
        train_learning_rate=1e-2,
    ),
    drafter=DrafterShape(layers=1, captures=2, block=8, anchors=8, gamma=4.0),
    contexts=(64, 96),
    rows=8,
    steps=8,
    chunk_blocks=4,
    untimed=True,
    learning_rate=6e-3,
)
