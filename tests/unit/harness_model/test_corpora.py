"""Texts by name and by file: rows depend on seed and index alone, and bad files say why."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
import torch
from torch import Tensor

from harness.data.corpora import NAMED, fitted, text_of
from harness.data.token_files import BadTokens, tokens_of
from harness.model.drafter import build_drafter
from harness.model.target import Target
from harness.model.training import Batch
from harness.recipes.tiny import preset as tiny
from tests.unit.harness_model.rig import raw, terms_loss

TOKENS = [*range(5, 300), 65535]


def written(folder: Path, kind: str) -> Path:
    path = folder / f"tokens{kind}"
    if kind == ".npy":
        numpy = pytest.importorskip("numpy")
        numpy.save(path, numpy.array(TOKENS, dtype=numpy.uint16).reshape(2, -1))
    elif kind == ".jsonl":
        lines = [{"tokens": TOKENS[:100]}, {"input_ids": TOKENS[100:]}]
        path.write_text("\n\n".join(map(json.dumps, lines)))
    else:
        code = "I" if "32" in kind else "H"
        path.write_bytes(struct.pack(f"<{len(TOKENS)}{code}", *TOKENS))
    return path


@pytest.mark.parametrize("kind", [".npy", ".bin", ".uint32.bin", ".jsonl"])
def test_a_file_is_read_as_one_stream(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind)
    assert tokens_of(path).tolist() == TOKENS
    preset = fitted(tiny, str(path))
    assert preset.target.vocab == 65535 + 2  # the last one is the mask token
    ids, mask = text_of(str(path), 64).rows(seed=1, index=2, rows=3, context=96)
    assert ids.shape == mask.shape == (3, 96)
    assert all(TOKENS.index(int(row[0])) + 95 == TOKENS.index(int(row[-1])) for row in ids)


LENGTHS = [3, 90, 17, 400, 1, 40]


def documents(folder: Path) -> Path:
    """Document d holds nothing but the token 100 * (d + 1) and, last, 7."""
    path = folder / "documents.jsonl"
    lines = [{"tokens": [100 * (d + 1)] * (n - 1) + [7]} for d, n in enumerate(LENGTHS)]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.mark.parametrize("how", ["apart", "7"])
def test_documents_apart_are_one_to_a_row(tmp_path: Path, how: str) -> None:
    ids, mask = text_of(str(documents(tmp_path)), 64, how).rows(
        seed=1, index=2, rows=200, context=64
    )
    seen = set()
    for row, supervised in zip(ids.tolist(), mask, strict=True):
        end = row.index(7) + 1 if 7 in row else 64
        assert len(set(row[:end]) - {7}) <= 1, "a row begins with one document"
        assert not supervised[end:].any(), "what comes behind it is not supervised"
        assert supervised[end - 1], "its last token is"
        number = row[0] // 100 - 1 if row[0] != 7 else 4
        seen.add(number)
        if LENGTHS[number] <= 64:
            assert end == LENGTHS[number], "a short one is there from its start"
    assert seen >= {1, 2, 3, 5}


def test_documents_need_borders(tmp_path: Path) -> None:
    with pytest.raises(BadTokens, match="does not say where"):
        text_of(str(written(tmp_path, ".bin")), 64, "apart")
    with pytest.raises(BadTokens, match="no token 4"):
        text_of(str(written(tmp_path, ".bin")), 64, "4")
    with pytest.raises(BadTokens, match="no documents"):
        text_of("zipf", 64, "apart")


def test_nothing_behind_a_document_is_learned_from(raw_target: Target, tmp_path: Path) -> None:
    """Other documents behind it change no bit of loss or gradient; other tokens in it do."""
    text = text_of(str(short_documents(tmp_path)), 64, "apart")
    ids, mask = text.rows(seed=1, index=2, rows=2, context=32)
    within = mask.int().flip(1).cumsum(1).flip(1) > 0
    assert 0 < int(within.sum()) < within.numel()
    plain = learned(raw_target, ids, mask)
    behind = learned(raw_target, torch.where(within, ids, (ids + 5) % 60), mask)
    inside = learned(raw_target, torch.where(within, (ids + 5) % 60, ids), mask)
    assert all(map(torch.equal, plain, behind))
    assert not torch.equal(plain[0], inside[0])


def short_documents(folder: Path) -> Path:
    path = folder / "short.jsonl"
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randint(0, 60, (20,), generator=generator).tolist() for _ in range(9)]
    path.write_text("\n".join(json.dumps({"tokens": tokens}) for tokens in drawn))
    return path


def learned(target: Target, ids: Tensor, mask: Tensor) -> list[Tensor]:
    """The loss and all gradients of one step on these rows."""
    drafter = build_drafter(raw, seed=1, device="cpu")
    batch = Batch(input_ids=ids, loss_mask=mask, features=target.features(ids))
    generator = torch.Generator().manual_seed(1)
    loss = terms_loss(drafter, target.borrowed, batch, raw, generator)
    loss.backward()
    return [loss.detach(), *(weight.grad for weight in drafter.parameters())]


@pytest.mark.parametrize("name", NAMED)
def test_named_texts(name: str) -> None:
    preset = fitted(tiny, name)
    text = text_of(name, preset.target.vocab)
    first = text.rows(seed=1, index=2, rows=3, context=64)
    assert torch.equal(first[0], text.rows(seed=1, index=2, rows=3, context=64)[0])
    assert not torch.equal(first[0], text.rows(seed=1, index=3, rows=3, context=64)[0])
    assert int(first[0].min()) >= 0 and int(first[0].max()) < preset.target.vocab - 1
    assert first[1].dtype == torch.bool
    assert not first[1][:, 0].any() and first[1][:, 16:].all()


def test_zipf_has_frequent_and_rare_tokens() -> None:
    ids, _ = text_of("zipf", 8192).rows(seed=0, index=0, rows=64, context=512)
    counts = torch.bincount(ids.flatten(), minlength=8192)
    assert counts[0] > 4 * counts[16] > 0
    assert (counts > 0).sum() > 2000


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("t.txt", b"1 2 3", "none of"),
        ("t.bin", b"123", "do not fill"),
        ("t.bin", b"", "no tokens"),
        ("t.npy", b"no array", "no array"),
        ("t.jsonl", b'{"tokens": [1, -2]}', "negative"),
        ("t.jsonl", b'{"tokens": [1.5]}', "whole numbers"),
        ("t.jsonl", b'{"other": 1}', "line 1"),
        ("t.jsonl", b"{", "line 1"),
        ("missing.bin", None, "no file"),
    ],
)
def test_a_bad_file_says_why(tmp_path: Path, name: str, content: bytes | None, why: str) -> None:
    if name.endswith(".npy"):
        pytest.importorskip("numpy")
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadTokens, match=why):
        tokens_of(path)


def test_text_without_a_tokenizer_says_what_to_install_or_add(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "hello"}')
    with pytest.raises(BadTokens, match=r"tokenizers|tokenizer\.json"):
        tokens_of(path)


def test_a_file_shorter_than_a_row_and_one_beyond_given_weights(tmp_path: Path) -> None:
    short = tmp_path / "short.jsonl"
    short.write_text('{"tokens": [1, 2, 3]}')
    with pytest.raises(BadTokens, match="fewer than one row"):
        fitted(tiny, str(short))
    with pytest.raises(BadTokens, match="vocabulary ends"):
        fitted(tiny, str(written(tmp_path, ".bin")), grow=False)
