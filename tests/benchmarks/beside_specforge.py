"""The same DFlash step by SpecForge's own model: its speed on a GPU, and whether it means the same.

``python -m tests.benchmarks.beside_specforge`` prints one JSON line per shape of the published
table, measured and counted as ``drafter_step`` does; run both in one session. ``--values`` gives
our weights and anchors to its model at the ``tiny`` shapes, in fp32 on the CPU, and prints the
largest difference of loss and gradients.

Needs ``specforge`` (0.2.0) and its ``transformers`` on the path. Of SpecForge only the model is
imported: the initialisers of its packages want a whole serving stack that the model does not use.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from harness import parts
from harness.config import Preset
from harness.devices import devices_of, peak_flops
from harness.figures import flops
from harness.model.drafter import Drafter, build_drafter
from harness.model.mask import dense_mask
from harness.model.training import Batch, Blocks, draw_blocks
from tests.benchmarks.drafter_step import TABLE, steady, timed

SAME = {
    "fc": ("fuse", 0), "hidden_norm": ("fuse_norm", 0), "norm": ("norm", 0),
    "input_layernorm": ("heads_norm", 0), "post_attention_layernorm": ("mlp_norm", 0),
    "self_attn.q_proj": ("heads.query", 0), "self_attn.k_proj": ("heads.key_value", 1),
    "self_attn.v_proj": ("heads.key_value", 2), "self_attn.o_proj": ("heads.out", 0),
    "self_attn.q_norm": ("heads.query_norm", 0), "self_attn.k_norm": ("heads.key_norm", 0),
    "mlp.gate_proj": ("mlp.gate_up", 1), "mlp.up_proj": ("mlp.gate_up", 2),
    "mlp.down_proj": ("mlp.down", 0),
}  # fmt: skip
"""Its modules by ours; 1 and 2 are the halves of a matrix that we keep as one."""
SHELLS = (
    "specforge.algorithms", "specforge.algorithms.common", "specforge.modeling",
    "specforge.modeling.draft",
)  # fmt: skip
TIMED = 20


def model_of(name: str) -> Any:
    """A module of SpecForge without what its packages' initialisers import."""
    found = importlib.util.find_spec("specforge")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("specforge is not installed: pip install --no-deps specforge==0.2.0")
    root = Path(next(iter(found.submodule_search_locations))).parent
    for shell in SHELLS:
        if shell not in sys.modules:
            sys.modules[shell] = ModuleType(shell)
            sys.modules[shell].__path__ = [str(root.joinpath(*shell.split(".")))]
    return importlib.import_module(name)


def theirs(preset: Preset, device: str, dtype: torch.dtype, backend: str) -> Any:
    """SpecForge's online model with a draft of this shape, at its own random weights."""
    draft = model_of("specforge.modeling.draft.dflash")
    family = model_of("specforge.algorithms.common.dflash_family_model")
    target, shape = preset.target, preset.drafter
    config = draft.Qwen3Config(
        vocab_size=target.vocab, hidden_size=target.hidden, num_hidden_layers=shape.layers,
        intermediate_size=target.intermediate, num_attention_heads=target.heads,
        num_key_value_heads=target.kv_heads, head_dim=target.head_dim, rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": target.rope_theta},
        attention_bias=False, attn_implementation=backend,
    )  # fmt: skip
    config.block_size, config.num_target_layers = shape.block, target.layers
    config.dflash_config = {
        "target_layer_ids": list(range(shape.captures)), "mask_token_id": target.vocab - 1,
    }  # fmt: skip
    with torch.device(device):
        model = draft.DFlashDraftModel(config).to(dtype)
        head = nn.Linear(target.hidden, target.vocab, bias=False, dtype=dtype)
        embedding = nn.Embedding(target.vocab, target.hidden, dtype=dtype)
    for lent in (head, embedding):
        lent.requires_grad_(False)
    return family.OnlineDFlashModel(
        draft_model=model, target_lm_head=head, target_embed_tokens=embedding,
        mask_token_id=target.vocab - 1, block_size=shape.block, attention_backend=backend,
        num_anchors=shape.anchors, loss_decay_gamma=shape.gamma,
        objective_chunk_blocks=preset.chunk_blocks,
    )  # fmt: skip


def batch_of(preset: Preset, device: str, dtype: torch.dtype) -> Batch:
    context, rows = preset.contexts[0], preset.rows
    width = preset.drafter.captures * preset.target.hidden
    return Batch(
        input_ids=torch.randint(0, preset.target.vocab - 1, (rows, context), device=device),
        loss_mask=torch.ones(rows, context, dtype=torch.bool, device=device),
        features=torch.randn(rows, context, width, device=device, dtype=dtype),
    )


def speed(preset: Preset, device: str) -> dict[str, Any]:
    """Forward and backward of one step, as ``drafter_step.measure`` times ours."""
    model = theirs(preset, device, torch.bfloat16, "flex_attention")
    batch = batch_of(preset, device, torch.bfloat16)

    def step() -> None:
        loss, _, _ = model(batch.input_ids, batch.features, batch.loss_mask.float())
        loss.backward()
        model.zero_grad(set_to_none=True)

    torch.cuda.reset_peak_memory_stats(device)
    seconds = sorted(timed(step, device, TIMED))
    pipelined = steady(step, device, TIMED)
    median, peak = seconds[len(seconds) // 2], peak_flops([device])
    work = flops.step_flops(preset, preset.contexts[0])
    return {
        "subject": "specforge 0.2.0", "preset": preset.name, "context": preset.contexts[0],
        "anchors": preset.drafter.anchors, "step_ms": median * 1e3,
        "step_ms_low": seconds[1] * 1e3, "step_ms_high": seconds[-2] * 1e3,
        "steady_ms": pipelined * 1e3, "steady_mfu": work / pipelined / peak if peak else None,
        "draft_slots_per_s": preset.rows * preset.slots_per_row / median,
        "mfu": work / median / peak if peak else None,
        "peak_memory_bytes": torch.cuda.max_memory_allocated(device),
    }  # fmt: skip


def values(preset: Preset) -> dict[str, float]:
    """Loss and gradients of both on the same weights, features and anchors: the largest gaps."""
    ours = build_drafter(preset, seed=0, device="cpu")
    model = theirs(preset, "cpu", torch.float32, "sdpa")
    batch = batch_of(preset, "cpu", torch.float32)
    drawn = draw_blocks(
        batch, preset.drafter, preset.target.vocab - 1, torch.Generator().manual_seed(0)
    )
    with torch.no_grad():
        for name, weight in model.draft_model.named_parameters():
            weight.copy_(_same(dict(ours.named_parameters()), name))
    model._sample_anchor_positions = lambda *_: (drawn.anchors, drawn.keep)
    loss, _, _ = model(batch.input_ids, batch.features, batch.loss_mask.float())
    loss.backward()
    mine = _our_loss(ours, model, batch, drawn, preset)
    mine.backward()
    gradients, gaps = {n: p.grad for n, p in ours.named_parameters()}, []
    for name, weight in model.draft_model.named_parameters():
        own = _same(gradients, name)
        gaps.append(((weight.grad - own).norm() / own.norm()).item())
    return {
        "loss": loss.item(), "loss_gap": abs(loss.item() - mine.item()),
        "gradients": float(len(gaps)), "largest_relative_gradient_gap": max(gaps),
    }  # fmt: skip


def _our_loss(ours: Drafter, model: Any, batch: Batch, drawn: Blocks, preset: Preset) -> Any:
    mask = dense_mask(drawn.anchors, drawn.keep, batch.context, preset.drafter.block)

    def attend(_: Any, q: Any, k: Any, v: Any) -> Any:
        return nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask[:, None], enable_gqa=True
        )

    noise = model.embed_tokens(drawn.tokens)
    hidden = ours(
        batch.features, noise, drawn.anchors, attend=attend,
        run_layer=lambda layer, *tensors: layer(None, *tensors),
    )  # fmt: skip
    logits = model.lm_head(hidden)
    entropy = nn.functional.cross_entropy(
        logits.flatten(0, 2), drawn.labels.flatten(), reduction="none"
    ).view_as(drawn.weights)
    return (entropy * drawn.weights).sum() / drawn.weights.sum()


def _same(ours: dict[str, Tensor], name: str) -> Tensor:
    """Ours of the weight (or gradient) that SpecForge calls ``name``."""
    prefix, module = "", name.removesuffix(".weight")
    if module.startswith("layers."):
        _, number, module = module.split(".", 2)
        prefix = f"layers.{number}."
    known, half = SAME[module]
    found = ours[f"{prefix}{known}.weight"]
    return found.chunk(2)[half - 1] if half else found


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", action="store_true")
    if parser.parse_args(arguments).values:
        print(json.dumps(values(parts.load_preset("tiny"))))
        return
    (device, *_) = devices_of("cuda")
    for name, context, anchors in TABLE:
        preset = parts.load_preset(name)
        shape = replace(preset.drafter, anchors=anchors)
        print(
            json.dumps(speed(replace(preset, drafter=shape, contexts=(context,)), device)),
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
