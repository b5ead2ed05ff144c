"""Rows filled with consecutive documents: whole but for the last, each with a prompt of its own."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import torch

from harness.data.corpora import text_of
from harness.data.documents import Packed
from harness.data.token_files import BadTokens
from tests.unit.harness_model.packing import LENGTHS, file_of, packed_rows

CONTEXT = 40


def written(folder: Path, lengths: tuple[int, ...]) -> Path:
    """Document d is 100 * (d + 1) + 0, 1, 2, ..."""
    path = folder / "numbered.jsonl"
    lines = (f'{{"tokens": {[100 * (d + 1) + n for n in range(size)]}}}'
             for d, size in enumerate(lengths))  # fmt: skip
    path.write_text("\n".join(lines))
    return path


def test_rows_are_full_of_consecutive_documents(tmp_path: Path) -> None:
    lengths = (3, 90, 17, 1, 25, 12)
    text = text_of(str(written(tmp_path, lengths)), 64, "packed")
    ids, mask, starts = text.rows(seed=1, index=2, rows=200, context=CONTEXT)
    assert ids.shape == mask.shape == starts.shape == (200, CONTEXT)
    begun, cut, wrapped = set(), 0, 0
    for row, supervised, begins in zip(ids.tolist(), mask, starts.tolist(), strict=True):
        borders = sorted(set(begins))
        assert borders[0] == 0
        numbers = [row[at] // 100 - 1 for at in borders]
        begun.add(numbers[0])
        for place, (at, number) in enumerate(zip(borders, numbers, strict=True)):
            end = borders[place + 1] if place + 1 < len(borders) else CONTEXT
            assert begins[at:end] == [at] * (end - at)
            assert row[at:end] == [row[at] + n for n in range(end - at)], "in one piece"
            assert number == (numbers[0] + place) % len(lengths), "one after the other"
            wrapped += number < numbers[0]
            whole = end - at == lengths[number]
            assert whole or end == CONTEXT, "only the row's end cuts"
            assert row[at] % 100 == 0 or (place == 0 and lengths[number] > CONTEXT)
            cut += not whole and place > 0
            prompt = int((~supervised[at:end]).sum())
            assert (end - at) // 16 <= prompt <= (end - at) // 4
            assert supervised[at + prompt : end].all()
    assert begun >= {1, 2, 4, 5} and cut and wrapped


def test_a_row_of_one_document_is_the_row_that_it_has_apart(tmp_path: Path) -> None:
    """Documents as long as a row, and longer."""
    for lengths in ((48, 48, 48), (50, 300, 49)):
        path = file_of(tmp_path, lengths)
        text_of.cache_clear()
        ids, mask, starts = packed_rows(path)
        alone = packed_rows(path, documents="apart")
        assert torch.equal(ids, alone[0]) and torch.equal(mask, alone[1])
        assert not starts.any()
    text_of.cache_clear()
    assert packed_rows(file_of(tmp_path))[2].any()


@pytest.mark.parametrize("end", ["60", "packed:60"])
def test_documents_may_end_with_a_token(tmp_path: Path, end: str) -> None:
    path, tokens = tmp_path / "t.bin", [1, 2, 60, 3, 60, 4, 5, 6]
    path.write_bytes(struct.pack(f"<{len(tokens)}H", *tokens))
    text = text_of(str(path), 64, end)
    assert isinstance(text, Packed) == end.startswith("packed")
    if isinstance(text, Packed):
        ids, _, starts = text.rows(seed=0, index=0, rows=4, context=24)
        begins = starts == torch.arange(24)
        assert torch.equal(begins[:, 1:], (ids[:, :-1] == 60) | (ids[:, :-1] == 6))


def test_empty_lines_and_documents_leave_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"tokens": []}\n\n{"tokens": [1, 2]}\n{"tokens": []}\n{"tokens": [3]}')
    ids, _, starts = text_of(str(path), 64, "packed").rows(seed=0, index=0, rows=8, context=7)
    for row, begins in zip(ids.tolist(), starts.tolist(), strict=True):
        assert row in ([1, 2, 3, 1, 2, 3, 1], [3, 1, 2, 3, 1, 2, 3])
        assert begins == ([0, 0, 2, 3, 3, 5, 6] if row[0] == 1 else [0, 1, 1, 3, 4, 4, 6])


def test_what_has_no_borders_cannot_be_packed(tmp_path: Path) -> None:
    path = tmp_path / "t.bin"
    path.write_bytes(b"1234")
    with pytest.raises(BadTokens, match="does not say where"):
        text_of(str(path), 64, "packed")
    with pytest.raises(BadTokens, match="no token 7"):
        text_of(str(path), 64, "packed:7")
    with pytest.raises(BadTokens, match="no documents"):
        text_of("phrase", 64, "packed")


def test_rows_depend_on_seed_and_index_alone(tmp_path: Path) -> None:
    path = file_of(tmp_path, (*LENGTHS, 33, 18))
    text = text_of(str(path), 64, "packed")
    first, other = (text.rows(seed=1, index=n, rows=3, context=64) for n in (4, 5))
    again = text.rows(seed=1, index=4, rows=3, context=64)
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first[0], other[0])
