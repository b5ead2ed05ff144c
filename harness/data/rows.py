"""The phrase language: text that is cheap to make and hard to draft without the target's help.

Fixed phrases follow each other, each with two possible successors. The alphabet is so small that
a token says little about where in which phrase it stands; only the target's features carry that,
so a drafter whose features are wrong or missing cannot learn. Everything is a pure function of
its arguments, on any machine: only ``random.Random.random`` is used, whose stream Python promises
to keep, and never a generator that other threads share.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

import torch
from torch import Tensor

LIKELY = 0.7
"""Probability of a phrase's first successor."""

SHORTEST, LONGEST = 5, 11
"""Tokens in a phrase."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Corpus:
    """A phrase language over token ids ``0 .. alphabet - 1``.

    ``successors[i]`` are the two phrases that may follow phrase i, the likely one first. Each
    column is a permutation, so in the long run every phrase is equally frequent.
    """

    alphabet: int
    phrases: tuple[tuple[int, ...], ...]
    successors: tuple[tuple[int, int], ...]

    @property
    def unigram_entropy(self) -> float:
        """Nats per token of the best guess that knows token frequencies and nothing else."""
        counts = Counter(token for phrase in self.phrases for token in phrase)
        total = sum(counts.values())
        return -sum(n / total * math.log(n / total) for n in counts.values())


def language(vocab: int) -> Corpus:
    """The phrase language that fits a vocabulary: 24 phrases over 10 symbols for V = 64.

    Larger vocabularies get one symbol per 128 tokens, and phrases in proportion. The last
    token id is never used: it is the drafter's mask token.
    """
    alphabet = max(10, vocab // 128)
    if alphabet >= vocab:
        raise ValueError(f"a vocabulary of {vocab} leaves no room for 10 symbols and a mask token")
    random = Random(f"phrase language over {alphabet} symbols")
    count = alphabet * 12 // 5
    phrases = tuple(_phrase(random, alphabet) for _ in range(count))
    likely = _cycle(random, count)
    other = _cycle(random, count)
    while any(a == b for a, b in zip(likely, other, strict=True)):
        other = _cycle(random, count)
    pairs = tuple(zip(likely, other, strict=True))
    return Corpus(alphabet=alphabet, phrases=phrases, successors=pairs)


def rows(
    corpus: Corpus, *, seed: int, index: int, rows: int, context: int
) -> tuple[Tensor, Tensor]:
    """Micro-batch ``index`` of a run: input_ids i64 [rows, context], loss_mask bool, on the CPU.

    A row starts anywhere in a phrase. Its first 1/16 to 1/4 is the prompt (not supervised), the
    rest is the response.
    """
    random = Random(f"rows {seed} {index} {rows} {context}")
    tokens = [list(islice(_walk(corpus, random), context)) for _ in range(rows)]
    prompts = [_between(random, context // 16, context // 4) for _ in range(rows)]
    input_ids = torch.tensor(tokens, dtype=torch.int64)
    loss_mask = torch.arange(context)[None, :] >= torch.tensor(prompts)[:, None]
    return input_ids, loss_mask


def _walk(corpus: Corpus, random: Random) -> Iterator[int]:
    phrase = _between(random, 0, len(corpus.phrases) - 1)
    yield from islice(corpus.phrases[phrase], _between(random, 0, SHORTEST - 1), None)
    while True:
        phrase = corpus.successors[phrase][random.random() >= LIKELY]
        yield from corpus.phrases[phrase]


def _phrase(random: Random, alphabet: int) -> tuple[int, ...]:
    length = _between(random, SHORTEST, LONGEST)
    return tuple(_between(random, 0, alphabet - 1) for _ in range(length))


def _cycle(random: Random, count: int) -> list[int]:
    """A random permutation that is one cycle: following it visits every phrase."""
    order = sorted(range(count), key=lambda _: random.random())
    after = [0] * count
    for here, there in zip(order, order[1:] + order[:1], strict=True):
        after[here] = there
    return after


def _between(random: Random, low: int, high: int) -> int:
    return low + int(random.random() * (high - low + 1))
