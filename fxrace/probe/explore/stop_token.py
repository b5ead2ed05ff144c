"""One stop as a short text: ``fxi1:<pair>:<point>:<check>``, some thirty characters.

A schedule of interference is one point of A (and one of B, where B stops too). Names of points
are long, so the token holds a hash of them; whoever plays it again has the names from the store
and sees by the token that they are the right ones.
"""

from __future__ import annotations

import hashlib
import zlib

PREFIX = "fxi1"
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"


def written(a: str, b: str, point: str, b_point: str) -> str:
    """The token of A stopped at ``point`` while B runs, to ``b_point`` or to its end."""
    pair = _hash("\x1f".join((a, b)), 6)
    place = _hash("\x1f".join((point, b_point)), 10)
    text = f"{PREFIX}:{pair}:{place}:"
    return text + _base32(zlib.crc32(text.encode()), 3)


def _hash(text: str, length: int) -> str:
    return _base32(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"), length)


def _base32(number: int, length: int) -> str:
    return "".join(_DIGITS[(number >> (5 * place)) & 31] for place in range(length))
