"""Packed rows for tests: layouts of borders, a file of documents, a batch made of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from hypothesis import strategies as st
from torch import Tensor

from harness.data.corpora import text_of
from harness.model.target import Target
from harness.model.training import Batch

LENGTHS = (9, 14, 5, 21, 1, 12, 7)


def starts_of(lengths: Sequence[Sequence[int]]) -> Tensor:
    """i64 [b, S] of rows whose documents have these lengths."""
    rows = []
    for row in lengths:
        sizes = torch.tensor(row)
        rows.append((sizes.cumsum(0) - sizes).repeat_interleave(sizes))
    return torch.stack(rows)


@st.composite
def packings(draw: st.DrawFn, *, context: int, rows: int) -> list[list[int]]:
    """Lengths of documents, row by row, that fill rows of ``context`` tokens."""
    made = []
    for _ in range(rows):
        cuts = sorted(draw(st.sets(st.integers(1, context - 1), max_size=min(context // 2, 16))))
        made.append([b - a for a, b in zip([0, *cuts], [*cuts, context], strict=True)])
    return made


def numbers_of(lengths: Sequence[Sequence[int]]) -> list[list[int]]:
    """The number of each token's document: what the specification speaks of."""
    return [[n for n, size in enumerate(row) for _ in range(size)] for row in lengths]


def file_of(folder: Path, lengths: Sequence[int] = LENGTHS) -> Path:
    """Documents of random tokens below 60, these long."""
    path, generator = folder / "documents.jsonl", torch.Generator().manual_seed(0)
    drawn = [torch.randint(0, 60, (n,), generator=generator).tolist() for n in lengths]
    path.write_text("\n".join(json.dumps({"tokens": tokens}) for tokens in drawn))
    return path


def batch_from(target: Target, rows: Sequence[Tensor]) -> Batch:
    """These rows with the target's features."""
    input_ids, _, *starts = rows
    return Batch.of(rows, target.features(input_ids, *starts))


def packed_rows(path: Path, *, context: int = 48, documents: str = "packed") -> tuple[Tensor, ...]:
    """Two rows of the file."""
    return text_of(str(path), 64, documents).rows(seed=1, index=2, rows=2, context=context)
