"""What drafters and targets read: a language of phrases, Zipf noise, stdlib sources, or a user's.

Every text is a function of (seed, index) alone, so that threads, processes and the oracle read
the same rows. Documents of a user's file are joined to one stream, where a row may cross from one
into the next, kept apart, one to a row, or packed, several to a row with borders between them.
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

from harness.config import APART, JOINED, PACKED, Plan, Preset
from harness.data.documents import Documents, Packed, supervised
from harness.data.rows import language, rows
from harness.data.token_files import BadTokens, read

PHRASE, ZIPF, STDLIB = "phrase", "zipf", "stdlib"
NAMED = (PHRASE, ZIPF, STDLIB)
MOST_BYTES = 4_000_000
"""Of stdlib sources; the rest would only cost time to read."""


class Text(Protocol):
    """``vocab`` is the smallest vocabulary that holds its tokens and a mask token besides."""

    @property
    def vocab(self) -> int: ...

    @property
    def key(self) -> str: ...

    def rows(self, *, seed: int, index: int, rows: int, context: int) -> tuple[Tensor, ...]:
        """Micro-batch ``index``: input_ids i64 and loss_mask bool, [rows, context], on the CPU.

        Packed rows have a third one: ``starts`` i64, where in the row each token's document begins.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Phrases:
    """The phrase language of ``harness.data.rows`` for this vocabulary."""

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


def corpus_of(plan: Plan) -> Text:
    """What this run reads. Raises BadTokens."""
    return text_of(plan.data, plan.preset.target.vocab, plan.documents)


@cache
def text_of(data: str, vocab: int, documents: str = JOINED) -> Text:
    """The text that ``data`` names, for a vocabulary of at least its own. Raises BadTokens.

    ``documents`` is ``joined``, ``apart`` (as the file says) or the id that ends each, and for
    packed rows ``packed`` (as the file says) or ``packed:ID``.
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
    kind, _, end = documents.partition(":")
    apart = Documents(
        tokens=tokens, ends=_ends(data, tokens, ends, end or kind), vocab=vocab,
        key=f"{_key(data, tokens)} {documents}",
    )  # fmt: skip
    return Packed(apart=apart) if kind == PACKED else apart


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


def _ends(data: str, tokens: Tensor, said: Tensor | None, by: str) -> Tensor:
    """Where each document ends, as the file says or ``by`` this token; the last with the file."""
    if by in (APART, PACKED):
        if said is None:
            raise BadTokens(
                f"{Path(data).name} does not say where documents end: give the id that ends each"
            )
        ends = said
    else:
        ends = (tokens == int(by)).nonzero()[:, 0] + 1
        if not len(ends):
            raise BadTokens(f"{Path(data).name} holds no token {by} that ends a document")
    return torch.cat((ends[ends > 0], torch.tensor([len(tokens)]))).unique()


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
