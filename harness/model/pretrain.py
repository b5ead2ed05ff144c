"""A target that knows the phrase language: trained in seconds, then kept on disk.

Trials run in processes of their own and may ask for the same target at once: one trains while
the others wait, and the file appears whole or not at all. The cache only saves time. Whatever is
wrong with it (unwritable, damaged, lock never granted), the target is trained again; training is
deterministic, so the outcome is the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F

from harness.config import Preset
from harness.data.corpora import Phrases, Text
from harness.data.rows import language
from harness.model.layers import initialise
from harness.model.target import Target

RECIPE = 1
"""Part of the cache key: raise it when training below changes what it produces."""

SEED = 20260206
UNTOLD = -100
LOCK_WAIT_S = 600.0
LOOK_S = 0.5


def load_target(
    preset: Preset,
    device: str | torch.device,
    cache: Path | None = None,
    dtype: torch.dtype | None = None,
    *,
    waiting: Callable[[], None] = lambda: None,
    text: Text | None = None,
) -> Target:
    """The frozen target of ``preset`` on ``device``, trained unless ``train_steps`` is 0.

    ``cache`` is the folder of trained targets: by default ``$FXRACE_CACHE``, else
    ``~/.cache/fxrace``. ``dtype`` defaults to fp32 on the CPU and bf16 elsewhere. ``waiting`` is
    called twice a second while another process trains this target. ``text`` is what it learns,
    by default the phrase language.
    """
    device = torch.device(device)
    if dtype is None:
        dtype = torch.float32 if device.type == "cpu" else torch.bfloat16
    if preset.target.train_steps == 0:
        target = _blank(preset, device, dtype)
        initialise(target, torch.Generator(device).manual_seed(SEED))
    else:
        target = _blank(preset, device, torch.float32)
        read: Text = text or Phrases(vocab=preset.target.vocab)
        place = cache or default_folder()
        target.load_state_dict(_trained(preset, device, place, waiting, read))
        target.to(dtype)
    target.requires_grad_(False).eval()
    return target


def digest(preset: Preset, device_type: str, text: Text | None = None) -> str:
    """Names a trained target: everything that its weights depend on, 16 hex digits."""
    named = None if text is None or isinstance(text, Phrases) else text.key
    key = {
        "recipe": RECIPE,
        "shape": asdict(preset.target),
        "contexts": preset.contexts,
        "corpus": named or asdict(language(preset.target.vocab)),
        "torch": torch.__version__,
        "device": device_type,
        "threads": preset.intraop_threads,
    }
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]


def train(preset: Preset, device: torch.device, text: Text | None = None) -> Target:
    """Train a target, on the phrase language by default: AdamW, warm-up 5 %, cosine to zero."""
    shape = preset.target
    read: Text = text or Phrases(vocab=shape.vocab)
    target = _blank(preset, device, torch.float32)
    initialise(target, torch.Generator(device).manual_seed(SEED))
    optimizer = torch.optim.AdamW(target.parameters(), betas=(0.9, 0.95), weight_decay=0.0)
    with torch.enable_grad(), _intraop_threads(preset, device):
        for step in range(shape.train_steps):
            for group in optimizer.param_groups:
                group["lr"] = shape.train_learning_rate * _schedule(step, shape.train_steps)
            _train_step(target, preset, read, step, optimizer)
    return target


def _schedule(step: int, steps: int) -> float:
    """Share of the peak learning rate."""
    warmup = max(1, steps // 20)
    return min((step + 1) / warmup, 0.5 + 0.5 * math.cos(math.pi * step / steps))


def _train_step(
    target: Target, preset: Preset, text: Text, step: int, optimizer: torch.optim.Optimizer
) -> None:
    context = preset.contexts[step % len(preset.contexts)]
    count = preset.target.train_rows
    tokens, _, *starts = text.rows(seed=SEED, index=step, rows=count, context=context)
    tokens = tokens.to(target.embedding.device)
    logits, goals = target.logits(tokens, *starts)[:, :-1], tokens[:, 1:]
    for borders in starts:  # nothing before a document tells how it begins
        begins = (borders[:, 1:] != borders[:, :-1]).to(goals.device)
        goals = goals.masked_fill(begins, UNTOLD)
    loss = F.cross_entropy(logits.flatten(0, 1), goals.flatten(), ignore_index=UNTOLD)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(target.parameters(), 1.0)
    optimizer.step()


def _trained(
    preset: Preset, device: torch.device, folder: Path, waiting: Callable[[], None], text: Text
) -> dict[str, torch.Tensor]:
    path = folder / f"target-{digest(preset, device.type, text)}.pt"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    with _only_one(path.with_suffix(".lock"), waiting):
        found = _read(path, preset, device)
        if found is None:
            found = train(preset, device, text).state_dict()
            with contextlib.suppress(OSError, RuntimeError):
                _write(path, found)
    return found


def _read(path: Path, preset: Preset, device: torch.device) -> dict[str, torch.Tensor] | None:
    """The weights in ``path`` if they are whole and fit the preset, else None."""
    try:
        state: dict[str, torch.Tensor] = torch.load(path, map_location=device, weights_only=True)
        _blank(preset, device, torch.float32).load_state_dict(state)
    except Exception:  # torch.load of a damaged file may raise nearly anything
        return None
    return state


def _write(path: Path, state: dict[str, torch.Tensor]) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
    os.close(handle)
    try:
        torch.save(state, name)
        os.replace(name, path)  # noqa: PTH105 - the atomic step, kept visible
    finally:
        Path(name).unlink(missing_ok=True)


@contextlib.contextmanager
def _only_one(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the file lock ``path``, or go on without it where that cannot be had in time."""
    try:
        import fcntl

        lock = path.open("w")
    except (ImportError, OSError):
        yield
        return
    with lock:  # closing the file gives the lock back
        end = time.monotonic() + LOCK_WAIT_S
        while time.monotonic() < end:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waiting()
                time.sleep(LOOK_S)
            except OSError:
                break
        yield


@contextlib.contextmanager
def _intraop_threads(preset: Preset, device: torch.device) -> Iterator[None]:
    """Sums split over other thread counts round differently, so the count is part of the recipe."""
    before = torch.get_num_threads()
    wanted = preset.intraop_threads if device.type == "cpu" else before
    if wanted != before:
        torch.set_num_threads(wanted)
    try:
        yield
    finally:
        if wanted != before:
            torch.set_num_threads(before)


def _blank(preset: Preset, device: torch.device, dtype: torch.dtype) -> Target:
    with torch.device("meta"):
        target = Target(preset.target, preset.drafter.captures)
    target.to(dtype).to_empty(device=device)
    return target


def default_folder() -> Path:
    """Where what took long to make is kept."""
    named = os.environ.get("FXRACE_CACHE")
    return Path(named) if named else Path(os.path.expanduser("~")) / ".cache" / "fxrace"  # noqa: PTH111
