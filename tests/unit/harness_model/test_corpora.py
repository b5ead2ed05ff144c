"""Texts by name and by file: rows depend on seed and index alone, and bad files say why."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
import torch

from harness.corpora import NAMED, fitted, text_of
from harness.recipes.tiny import preset as tiny
from harness.token_files import BadTokens, tokens_of

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
