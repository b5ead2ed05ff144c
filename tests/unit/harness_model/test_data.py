from __future__ import annotations

import math
import random
from collections import Counter

import pytest
import torch

from harness.data.rows import Corpus, language, rows

CORPUS = language(64)


def draw(index: int = 0, context: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    return rows(CORPUS, seed=3, index=index, rows=4, context=context)


def could_be_written(corpus: Corpus, tokens: list[int]) -> bool:
    """Whether some path through the phrases reads ``tokens``."""
    places = {(p, o) for p in range(len(corpus.phrases)) for o in range(len(corpus.phrases[p]))}
    for token in tokens:
        places = {(p, o) for p, o in places if corpus.phrases[p][o] == token}
        places = {
            place
            for p, o in places
            for place in (
                [(p, o + 1)]
                if o + 1 < len(corpus.phrases[p])
                else [(q, 0) for q in corpus.successors[p]]
            )
        }
    return bool(places)


def test_rows_depend_on_their_arguments_only() -> None:
    before = torch.get_rng_state(), random.getstate()
    first, second = draw(), draw()
    assert torch.equal(first[0], second[0])
    assert torch.equal(first[1], second[1])
    assert not torch.equal(first[0], draw(index=1)[0])
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == random.getstate()


def test_rows_are_the_same_on_every_machine() -> None:
    tokens, mask = draw()
    assert tokens[0, :12].tolist() == [5, 1, 0, 4, 9, 5, 0, 5, 0, 2, 3, 0]
    assert mask.sum().item() == 214


def test_rows_are_made_of_phrases_that_may_follow_each_other() -> None:
    tokens, _ = draw()
    assert all(could_be_written(CORPUS, row) for row in tokens.tolist())
    assert not any(could_be_written(CORPUS, sorted(row)) for row in tokens.tolist())


def test_a_row_is_a_prompt_and_then_a_response() -> None:
    tokens, mask = draw(context=96)
    assert tokens.shape == mask.shape == (4, 96)
    assert tokens.dtype == torch.int64
    assert mask.dtype == torch.bool
    starts = mask.int().argmax(dim=1).tolist()
    assert all(96 // 16 <= start <= 96 // 4 for start in starts)
    assert all(mask[row, start:].all() for row, start in enumerate(starts))


@pytest.mark.parametrize("vocab", [64, 8192])
def test_the_language_fits_its_vocabulary(vocab: int) -> None:
    corpus = language(vocab)
    assert all(5 <= len(phrase) <= 11 for phrase in corpus.phrases)
    assert max(map(max, corpus.phrases)) < corpus.alphabet < vocab
    for column in zip(*corpus.successors, strict=True):
        assert sorted(column) == list(range(len(corpus.phrases)))
    assert all(a != b for a, b in corpus.successors)


def test_the_specified_language() -> None:
    assert (CORPUS.alphabet, len(CORPUS.phrases)) == (10, 24)
    with pytest.raises(ValueError, match="mask token"):
        language(10)


def test_unigram_entropy_is_that_of_the_rows() -> None:
    tokens, _ = rows(CORPUS, seed=0, index=0, rows=50, context=800)
    counts = Counter(tokens.flatten().tolist())
    total = sum(counts.values())
    measured = -sum(n / total * math.log(n / total) for n in counts.values())
    assert CORPUS.unigram_entropy == pytest.approx(measured, abs=0.01)
    assert CORPUS.unigram_entropy < math.log(CORPUS.alphabet)
