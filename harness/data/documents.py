"""A user's documents in rows: one to a row, or packed, several to a row.

Both draw from (seed, index) alone, in the same order, so that a packed row that holds one document
is the row that this document has apart. A border says where in the row a token's document begins
(``starts``): documents lie in one piece, so "of the same document and before" is an interval, and
no mask ever compares numbers of documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Documents:
    """One document a row, from its start, or a window of one that is longer than the row.

    Behind a document that is shorter the row goes on with what comes next, and nothing of that is
    supervised. So nothing of it is learned from either: a target looks back only, and a draft
    block sees what lies before its anchor. ``ends`` i64 [documents], exclusive, none empty.
    """

    tokens: Tensor
    ends: Tensor
    vocab: int
    key: str

    def rows(self, *, seed: int, index: int, rows: int, context: int) -> tuple[Tensor, Tensor]:
        random, spans = self.begun(seed, index, rows, context)
        places = (
            torch.arange(context)[None, :] + torch.tensor([first for first, _ in spans])[:, None]
        )
        mask = [supervised(random, 1, length, context) for _, length in spans]
        return self.tokens[places % len(self.tokens)].long(), torch.cat(mask)

    def begun(
        self, seed: int, index: int, rows: int, context: int
    ) -> tuple[Random, list[tuple[int, int]]]:
        """Where each row begins and how many of its tokens are that document's, and the rest of
        the micro-batch's luck.
        """
        random = Random(f"documents {seed} {index} {rows} {context}")
        return random, [self._span(random, context) for _ in range(rows)]

    def span_of(self, number: int) -> tuple[int, int]:
        """Where document ``number`` begins and ends; after the last one comes the first."""
        number %= len(self.ends)
        return int(self.ends[number - 1]) if number else 0, int(self.ends[number])

    def holding(self, place: int) -> int:
        """The number of the document that this token is of."""
        return int(torch.searchsorted(self.ends, place, right=True))

    def _span(self, random: Random, context: int) -> tuple[int, int]:
        """A document, drawn by its length; a window at random where the row is shorter."""
        chosen = int(random.random() * len(self.tokens))
        first, end = self.span_of(self.holding(chosen))
        length = end - first
        if length > context:
            first += int(random.random() * (length - context + 1))
        return first, min(length, context)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Packed:
    """Rows without a gap: a document as it stands ``apart``, then those that follow it in the file.

    The last one is cut by the row's end and what is cut off is not carried over: it is read where
    a row begins with that document, which is drawn by its length. Every document, and what is left
    of one that is cut, has a prompt of its own. Nothing may look or predict across a border.
    """

    apart: Documents

    @property
    def vocab(self) -> int:
        return self.apart.vocab

    @property
    def key(self) -> str:
        return self.apart.key

    def rows(
        self, *, seed: int, index: int, rows: int, context: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Also ``starts`` i64 [rows, context]: where in the row each token's document begins."""
        random, begun = self.apart.begun(seed, index, rows, context)
        places, mask, starts = [], [], []
        for span in begun:
            pieces = self._pieces(span, context)
            lengths = torch.tensor([length for _, length in pieces])
            places.append(torch.cat([torch.arange(at, at + length) for at, length in pieces]))
            mask.append(torch.cat([supervised(random, 1, length)[0] for _, length in pieces]))
            starts.append((lengths.cumsum(0) - lengths).repeat_interleave(lengths))
        ids = self.apart.tokens[torch.stack(places)].long()
        return ids, torch.stack(mask), torch.stack(starts)

    def _pieces(self, first: tuple[int, int], context: int) -> list[tuple[int, int]]:
        """(place in the file, length) of what fills a row that begins so."""
        pieces, number, room = [first], self.apart.holding(first[0]), context - first[1]
        while room:
            number += 1
            begin, end = self.apart.span_of(number)
            pieces.append((begin, min(end - begin, room)))
            room -= pieces[-1][1]
        return pieces


def supervised(random: Random, rows: int, length: int, context: int = 0) -> Tensor:
    """bool [rows, context or length]: the first 1/16 to 1/4 of ``length`` tokens is the prompt,
    the others of them the response.
    """
    low, high = length // 16, length // 4
    prompts = [low + int(random.random() * (high - low + 1)) for _ in range(rows)]
    places = torch.arange(context or length)[None, :]
    return (places >= torch.tensor(prompts)[:, None]) & (places < length)
