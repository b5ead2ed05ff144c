"""Reads a user's own tokens: ``.npy``, ``.bin`` or ``.jsonl``.

``.bin`` is raw little-endian, two bytes a token, or four where the name ends in ``.uint32.bin``.
A line of ``.jsonl`` is a document: it holds a list under ``tokens`` or ``input_ids``, or a string
under ``text`` or ``content``, which needs ``tokenizers`` and a ``tokenizer.json`` beside the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

KINDS = (".npy", ".bin", ".jsonl")
LISTS, TEXTS = ("tokens", "input_ids"), ("text", "content")
TOKENIZER = "tokenizer.json"


class BadTokens(Exception):
    """A file of tokens cannot be used; the message is one sentence."""


def tokens_of(path: Path) -> Tensor:
    """All tokens of the file, one after the other: i32 [length]. Raises BadTokens."""
    return read(path)[0]


def read(path: Path) -> tuple[Tensor, Tensor | None]:
    """``tokens_of``, and where each document ends (i64, exclusive) if the file says so."""
    if not path.is_file():
        raise BadTokens(f"there is no file {path}")
    readers: dict[str, Any] = {".npy": _npy, ".bin": _bin, ".jsonl": _jsonl}
    if path.suffix not in readers:
        raise BadTokens(f"{path.name} is none of {', '.join(KINDS)}")
    found = readers[path.suffix](path)
    tokens, ends = found if isinstance(found, tuple) else (found, None)
    if not len(tokens):
        raise BadTokens(f"{path.name} holds no tokens")
    if int(tokens.min()) < 0:
        raise BadTokens(f"{path.name} holds the negative token {int(tokens.min())}")
    return tokens, ends


def _npy(path: Path) -> Tensor:
    try:
        numpy: Any = import_module("numpy")
    except ImportError as error:
        raise BadTokens(f"{path.name} needs numpy in this interpreter") from error
    try:
        array = numpy.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise BadTokens(f"{path.name} is no array: {error}") from error
    if array.dtype.kind not in "iu":
        raise BadTokens(f"{path.name} holds {array.dtype}, not whole numbers")
    return torch.from_numpy(array.reshape(-1).astype(numpy.int32))


def _bin(path: Path) -> Tensor:
    width = 4 if path.name.endswith(".uint32.bin") else 2
    size = path.stat().st_size
    if size % width:
        raise BadTokens(f"{path.name} has {size} bytes, which {width}-byte tokens do not fill")
    if not size:
        return torch.zeros(0, dtype=torch.int32)
    dtype = torch.int32 if width == 4 else torch.int16
    raw = torch.from_file(str(path), shared=False, size=size // width, dtype=dtype)
    return raw.int() if width == 4 else raw.int() & 0xFFFF


def _jsonl(path: Path) -> tuple[Tensor, Tensor]:
    found: list[int] = []
    ends: list[int] = []
    encode: Any = None
    for number, row in _lines(path):
        listed = next((row[name] for name in LISTS if name in row), None)
        if listed is None:
            text = next((row[name] for name in TEXTS if name in row), None)
            if not isinstance(text, str):
                raise BadTokens(f"{path.name}, line {number}: none of {', '.join(LISTS + TEXTS)}")
            encode = encode or _encoder(path)
            listed = encode(text)
        if not all(isinstance(token, int) for token in listed):
            raise BadTokens(f"{path.name}, line {number}: its tokens are not whole numbers")
        found += listed
        ends.append(len(found))
    return torch.tensor(found, dtype=torch.int32), torch.tensor(ends, dtype=torch.int64)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise BadTokens(f"{path.name}, line {number}: {error}") from error
            if not isinstance(row, dict):
                raise BadTokens(f"{path.name}, line {number}: not an object")
            yield number, row


def _encoder(path: Path) -> Any:
    """Text to token ids, by the tokenizer beside the file."""
    try:
        tokenizers: Any = import_module("tokenizers")
    except ImportError as error:
        raise BadTokens(
            f"{path.name} holds text, which needs tokenizers: pip install tokenizers"
        ) from error
    file = path.with_name(TOKENIZER)
    if not file.is_file():
        raise BadTokens(f"{path.name} holds text, and there is no {TOKENIZER} beside it")
    tokenizer = tokenizers.Tokenizer.from_file(str(file))
    return lambda text: tokenizer.encode(text).ids
