"""The shapes and schedule of a run: presets (what is trained) and plans (where and how).

A preset lives in ``harness/recipes/<name>.py`` as ``preset``. Every default is here or there,
nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

# What a trial runs on an axis that its knobs do not name; also the list of the harness's axes.
DEFAULT_KNOBS = {
    "locking": "none",
    "checkpoint": "off",
    "warmup": "none",
    "attention": "flex",
    "loss": "chunked",
    "execution": "threads",
    "layers": "by_preset",
    "precision": "native",
    "sync": "none",
    "queue": "per_drafter",
    "cudagraphs": "off",
    "objective": "decayed",
    "labels": "anchor_given",
    "schedule": "cosine",
}

JOINED, APART, PACKED = "joined", "apart", "packed"
"""How documents of a file lie in rows; ``packed:ID`` and ``ID`` name the token that ends each."""

# What a trial runs where its settings are silent. ``steps`` None means the preset's number;
# ``parts`` holds folders of user parts, joined by ``os.pathsep``; ``data`` names a corpus (phrase,
# stdlib) or a file of tokens, whose ``documents`` are joined, apart or packed, or end with the
# token of this id; ``model`` is a folder of weights for the target, ``kernel_options`` are
# ``NAME=NUMBER,...`` for flex_attention. With ``fail_fast`` a drafter that fails stops everybody,
# also where nobody depends on it; with ``gil_share`` py-spy samples who holds Python's lock; with
# ``shared_cache`` trials find what others compiled (None: the preset decides).
DEFAULT_SETTINGS: dict[str, str | int | bool | None] = {
    "preset": "tiny",
    "device": "cpu",
    "targets": 1,
    "drafters": 2,
    "steps": None,
    "freeze": False,
    "parts": "",
    "data": "phrase",
    "documents": JOINED,
    "model": "",
    "kernel_options": "",
    "fail_fast": False,
    "gil_share": False,
    "shared_cache": None,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetShape:
    """A Qwen3-style decoder. ``train_steps`` = 0 leaves it at random weights."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    rope_theta: float = 1_000_000.0
    train_steps: int = 0
    train_rows: int = 16
    train_learning_rate: float = 3e-3


@dataclass(frozen=True, kw_only=True, slots=True)
class DrafterShape:
    """The DFlash drafter: L layers, K captured target layers, N blocks of B slots per row."""

    layers: int
    captures: int
    block: int
    anchors: int
    gamma: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """One workload. ``contexts`` are the row lengths S it cycles through (shape buckets);
    ``rows`` is the micro-batch b; ``chunk_blocks`` the loss chunk along the block axis;
    ``compiled_layers`` says what the axis ``layers`` does where it is left to the preset;
    ``shared_cache``, for what compiles for minutes, whether trials share Inductor's cache;
    ``untimed``, for what is too small to be timed and takes about 1 GB, that trials may share a GPU
    (a literal: it is read from the file before there is a torch).
    """

    name: str
    target: TargetShape
    drafter: DrafterShape
    contexts: tuple[int, ...]
    rows: int
    steps: int
    chunk_blocks: int
    compiled_layers: bool = False
    shared_cache: bool = False
    untimed: bool = False
    queue_depth: int = 4
    learning_rate: float = 6e-4
    weight_decay: float = 0.0
    clip_norm: float = 1.0
    intraop_threads: int = 1

    @property
    def slots_per_row(self) -> int:
        """Q = N * B, the query length."""
        return self.drafter.anchors * self.drafter.block


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Where a run's threads live. ``target_devices[i]`` / ``drafter_devices[j]`` are torch
    device strings; ``oversubscribed`` when logical slots share a device.
    """

    preset: Preset
    target_devices: tuple[str, ...]
    drafter_devices: tuple[str, ...]
    seed: int
    steps: int
    oversubscribed: bool
    freeze: bool = False
    fail_fast: bool = False
    data: str = "phrase"
    documents: str = JOINED
    model: str = ""
    kernel_options: str = ""
    gil_share: bool = False

    @property
    def device_type(self) -> str:
        return self.drafter_devices[0].split(":")[0]

    @property
    def packed(self) -> bool:
        """True when a row may hold several documents, between which nothing is seen."""
        return self.documents.split(":")[0] == PACKED
