"""What drafters and targets read: a language of phrases, Zipf noise, stdlib sources, or a user's.

Every text is a function of (seed, index) alone, so that threads, processes and the oracle read
the same rows. Documents of a user's file are joined to one stream, where a row may cross from one
into the next, or kept apart, one to a row. Several in a row with a mask between them there are not.
"""

from __future__ import annotations

import sysconfig
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Protocol

import torch
from torch import Tensor

from harness.config import Plan, Preset
from harness.data import language, rows
from harness.token_files import BadTokens, read

PHRASE, ZIPF, STDLIB = "phrase", "zipf", "stdlib"
NAMED = (PHRASE, ZIPF, STDLIB)
JOINED, APART = "joined", "apart"
MOST_BYTES = 4_000_000
"""Of stdlib sources; the rest would only cost time to read."""


class Text(Protocol):
    """``vocab`` is the smallest vocabulary that holds its tokens and a mask token besides."""

    @property
    def vocab(self) -> int: ...

    @property
    def key(self) -> str: ...

    def rows(self, *, seed: int, index: int, rows: int, context: int) -> tuple[Tensor, Tensor]:
        """Micro-batch ``index``: input_ids i64 and loss_mask bool, [rows, context], on the CPU."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Phrases:
    """The phrase language of ``harness.data`` for this vocabulary."""

    vocab: int
    key: str = PHRASE

    def rows(self, *, seed: int, index: int, rows: int, context: int) -> tuple[Tensor, Tensor]:
        return rows_of_language(self.vocab, seed, index, rows, context)


@dataclass(frozen=True, kw_only=True, slots=True)
class Zipf:
    """Independent tokens, the r-th likeliest with probability about 1/r: unigrams to learn."""

    vocab: int
    key: str = ZIPF

    def rows(self, *, seed: int, index: int, rows: int, context: int) -> tuple[Tensor, Tensor]:
        random = Random(f"zipf {seed} {index} {rows} {context}")
        generator = torch.Generator().manual_seed(random.getrandbits(62))
        luck = torch.rand((rows, context), generator=generator, dtype=torch.float64)
        ids = ((self.vocab - 1) ** luck - 1).long().clamp(0, self.vocab - 2)
        return ids, supervised(random, rows, context)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Stream:
    """Windows at random places of one long sequence of token ids."""

    tokens: Tensor
    vocab: int
    key: str

    def rows(self, *, seed: int, index: int, rows: int, context: int) -> tuple[Tensor, Tensor]:
        random = Random(f"stream {seed} {index} {rows} {context}")
        starts = [int(random.random() * (len(self.tokens) - context + 1)) for _ in range(rows)]
        ids = torch.stack([self.tokens[start : start + context] for start in starts]).long()
        return ids, supervised(random, rows, context)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Documents:
    """One document a row, from its start, or a window of one that is longer than the row.

    Behind a document that is shorter the row goes on with what comes next, and nothing of that is
    supervised. So nothing of it is learned from either: a target looks back only, and a draft
    block sees what lies before its anchor. ``ends`` i64 [documents], exclusive.
    """

    tokens: Tensor
    ends: Tensor
    vocab: int
    key: str

    def rows(self, *, seed: int, index: int, rows: int, context: int) -> tuple[Tensor, Tensor]:
        random = Random(f"documents {seed} {index} {rows} {context}")
        spans = [self._span(random, context) for _ in range(rows)]
        places = (
            torch.arange(context)[None, :] + torch.tensor([first for first, _ in spans])[:, None]
        )
        mask = [supervised(random, 1, length, context) for _, length in spans]
        return self.tokens[places % len(self.tokens)].long(), torch.cat(mask)

    def _span(self, random: Random, context: int) -> tuple[int, int]:
        """Where a row begins and how many of its tokens are the document's; by length of it."""
        chosen = int(random.random() * len(self.tokens))
        number = int(torch.searchsorted(self.ends, chosen, right=True))
        first = int(self.ends[number - 1]) if number else 0
        length = int(self.ends[number]) - first
        if length > context:
            first += int(random.random() * (length - context + 1))
        return first, min(length, context)


def supervised(random: Random, rows: int, length: int, context: int = 0) -> Tensor:
    """bool [rows, context or length]: the first 1/16 to 1/4 of ``length`` tokens is the prompt,
    the others of them the response.
    """
    low, high = length // 16, length // 4
    prompts = [low + int(random.random() * (high - low + 1)) for _ in range(rows)]
    places = torch.arange(context or length)[None, :]
    return (places >= torch.tensor(prompts)[:, None]) & (places < length)


def corpus_of(plan: Plan) -> Text:
    """What this run reads. Raises BadTokens."""
    return text_of(plan.data, plan.preset.target.vocab, plan.documents)


@cache
def text_of(data: str, vocab: int, documents: str = JOINED) -> Text:
    """The text that ``data`` names, for a vocabulary of at least its own. Raises BadTokens.

    ``documents`` is ``joined``, ``apart`` (as the file says), or the id that ends each.
    """
    if data in NAMED and documents != JOINED:
        raise BadTokens(f"{data} has no documents to keep apart")
    if data == PHRASE:
        return Phrases(vocab=vocab)
    if data == ZIPF:
        return Zipf(vocab=vocab)
    tokens, ends = (_stdlib(), None) if data == STDLIB else read(Path(data))
    vocab = max(vocab, int(tokens.max()) + 2 if len(tokens) else 2)
    if documents == JOINED:
        return Stream(tokens=tokens, vocab=vocab, key=_key(data, tokens))
    return Documents(
        tokens=tokens, ends=_ends(data, tokens, ends, documents), vocab=vocab,
        key=f"{_key(data, tokens)} {documents}",
    )  # fmt: skip


def fitted(preset: Preset, data: str, documents: str = JOINED, *, grow: bool = True) -> Preset:
    """The preset with a vocabulary that holds the text and a mask token.

    Raises BadTokens where the vocabulary may not ``grow``, since it is that of given weights.
    """
    text = text_of(data, preset.target.vocab, documents)
    if text.vocab > preset.target.vocab and not grow:
        raise BadTokens(
            f"it holds token {text.vocab - 2}, the target's vocabulary ends at "
            f"{preset.target.vocab - 1}, its mask token"
        )
    longest = max(preset.contexts)
    if isinstance(text, Stream) and len(text.tokens) < longest:
        raise BadTokens(f"its {len(text.tokens)} tokens are fewer than one row of {longest}")
    return replace(preset, target=replace(preset.target, vocab=text.vocab))


def rows_of_language(
    vocab: int, seed: int, index: int, count: int, context: int
) -> tuple[Tensor, Tensor]:
    """``harness.data.rows`` of the language for this vocabulary."""
    return rows(_language(vocab), seed=seed, index=index, rows=count, context=context)


_language = cache(language)


def _ends(data: str, tokens: Tensor, said: Tensor | None, documents: str) -> Tensor:
    """Where each document ends; the last one with the file."""
    if documents == APART:
        if said is None:
            raise BadTokens(
                f"{Path(data).name} does not say where documents end: give the id that ends each"
            )
        ends = said
    else:
        ends = (tokens == int(documents)).nonzero()[:, 0] + 1
        if not len(ends):
            raise BadTokens(f"{Path(data).name} holds no token {documents} that ends a document")
    return torch.cat((ends, torch.tensor([len(tokens)]))).unique()


def _stdlib() -> Tensor:
    """CPython's own top-level modules as bytes, in order of name."""
    folder, read = Path(sysconfig.get_paths()["stdlib"]), bytearray()
    for path in sorted(folder.glob("*.py")):
        if len(read) < MOST_BYTES:
            read += path.read_bytes()
    return torch.frombuffer(read, dtype=torch.uint8).int()


def _key(data: str, tokens: Tensor) -> str:
    """Names the contents, not the place: enough of them to tell two files apart."""
    total = int(tokens.sum(dtype=torch.int64)) if len(tokens) else 0
    return f"{Path(data).name} {len(tokens)} {total}"
