"""Fits one GPU shared by all threads: real kernels, real learning, minutes.

The target trains for about a minute on its first use and is then cached.
"""

from __future__ import annotations

from harness.config import DrafterShape, Preset, TargetShape

preset = Preset(
    name="small",
    target=TargetShape(
        layers=8,
        hidden=512,
        intermediate=1536,
        heads=8,
        kv_heads=4,
        head_dim=64,
        vocab=8192,
        train_steps=1000,
        train_rows=16,
        train_learning_rate=1e-3,
    ),
    drafter=DrafterShape(layers=3, captures=3, block=8, anchors=64, gamma=4.0),
    contexts=(512, 640),
    rows=8,
    steps=500,
    chunk_blocks=16,
)
