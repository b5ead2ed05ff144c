"""A schedule as a short text: ``fxr1:<what>:<choices>:<seen><check>``, at most 60 characters.

``what`` is six characters of a hash over the program's name, its threads, the grain and the
States known: a token is refused where any of these differ. Only choices (steps where two or more
could run) are kept, as runs: how many times in a row the same decision was taken, where the
decision is *stay* or *the i-th of the others*. Threads stay far more often than they switch, so a
schedule of thousands of choices and a few switches is some twenty characters. ``seen`` is a hash
over the points of all steps, so that a replay knows whether it went the same way. Schedules that
do not fit go into a file; the error says so.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from fxrace.probe.explore.choices import Situation, staying
from fxrace.probe.explore.played import Step

PREFIX, LONGEST = "fxr1", 60
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_WHAT, _SEEN, _CHECK = 6, 3, 3


class TokenError(ValueError):
    """The text is no token, or one of something else. The message says which."""


def what(program: str, threads: int, grain: str, states: Iterable[str]) -> str:
    """Six characters for everything that a token's choices depend on."""
    text = "\x1f".join([program, str(threads), grain, *sorted(states)])
    return _base32(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"), _WHAT)


def decisions(steps: Sequence[Step]) -> tuple[int, ...]:
    """Per choice: 0 for what ``staying`` would do, else 1 + the place among the others."""
    return tuple(
        _decision(step.runnable, step.current, step.chosen) for step in steps if step.is_choice
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """What a token's text says. ``made`` without trailing stays: after its end, threads stay."""

    about: str
    made: tuple[int, ...]
    seen: str

    def is_exact(self, steps: Sequence[Step]) -> bool:
        """True where these steps came to the same points in the same order."""
        return _seen(steps) == self.seen


def written(about: str, steps: Sequence[Step]) -> str:
    """The token of a schedule as it was played. Raises TokenError where it would be too long."""
    made = decisions(steps)
    text = f"{PREFIX}:{about}:{_base32_bits(_packed(made))}:{_seen(steps)}"
    token = text + _check(text)
    if len(token) > LONGEST:
        raise TokenError(
            f"a schedule of {len(made)} choices does not fit into a token; save it as a file"
        )
    return token


def read(token: str) -> Token:
    """What it says. Raises TokenError where it is none, or damaged."""
    text = token.strip()
    parts = text.split(":")
    if len(parts) != 4 or parts[0] != PREFIX or len(parts[3]) != _SEEN + _CHECK:
        raise TokenError(f"{text[:70]!r} is no token: it does not look like {PREFIX}:...")
    if _check(text[:-_CHECK]) != text[-_CHECK:]:
        raise TokenError(f"{text[:70]!r} is damaged: a character was lost or changed")
    made = tuple(_unpacked(_bits(parts[2])))
    return Token(about=parts[1], made=made, seen=parts[3][:_SEEN])


def matched(token: str, about: str) -> Token:
    """The same, if the token is of this program. Raises TokenError if it is not."""
    found = read(token)
    if found.about != about:
        raise TokenError(
            "the token is of other operations, another grain, or a torch with other States "
            f"({found.about}, here {about})"
        )
    return found


@dataclass
class Replay:
    """The chooser that follows decisions, and then stays."""

    made: tuple[int, ...]
    _used: int = field(default=0, repr=False)

    def __call__(self, situation: Situation) -> int:
        if len(situation.runnable) < 2:
            return situation.runnable[0]
        at, self._used = self._used, self._used + 1
        decision = self.made[at] if at < len(self.made) else 0
        usual = staying(situation)
        if not decision:
            return usual
        others = [thread for thread in situation.runnable if thread != usual]
        return others[decision - 1] if decision <= len(others) else -1


def _seen(steps: Sequence[Step]) -> str:
    text = "\x1f".join(f"{step.current}@{step.at}>{step.chosen}" for step in steps)
    return _base32(zlib.crc32(text.encode()), _SEEN)


def _decision(runnable: tuple[int, ...], current: int | None, chosen: int) -> int:
    usual = staying(Situation(step=0, runnable=runnable, current=current, at=""))
    return 0 if chosen == usual else 1 + [t for t in runnable if t != usual].index(chosen)


def _packed(made: Sequence[int]) -> list[int]:
    """Bits: for each switch, the stays before it and which other, both Elias-gamma coded."""
    bits: list[int] = []
    stays = 0
    for decision, run in groupby(made):
        length = len(list(run))
        if decision == 0:
            stays += length
            continue
        for _ in range(length):
            bits += _gamma(stays + 1) + _gamma(decision)
            stays = 0
    return bits


def _unpacked(bits: list[int]) -> Iterator[int]:
    at = 0
    while 1 in bits[at:]:
        stays, at = _ungamma(bits, at)
        decision, at = _ungamma(bits, at)
        yield from (0 for _ in range(stays - 1))
        yield decision


def _gamma(number: int) -> list[int]:
    digits = [int(digit) for digit in f"{number:b}"]
    return [0] * (len(digits) - 1) + digits


def _ungamma(bits: list[int], at: int) -> tuple[int, int]:
    zeros = 0
    while at + zeros < len(bits) and not bits[at + zeros]:
        zeros += 1
    end = at + 2 * zeros + 1
    if end > len(bits):
        raise TokenError("the token's choices end in the middle of a number")
    return int("".join(map(str, bits[at + zeros : end])), 2), end


def _base32_bits(bits: list[int]) -> str:
    padded = bits + [0] * (-len(bits) % 5)
    groups = (padded[i : i + 5] for i in range(0, len(padded), 5))
    return "".join(_DIGITS[int("".join(map(str, group)), 2)] for group in groups)


def _bits(text: str) -> list[int]:
    if set(text) - set(_DIGITS):
        raise TokenError(f"{text!r} has characters no token has")
    return [int(digit) for one in text for digit in f"{_DIGITS.index(one):05b}"]


def _base32(number: int, length: int) -> str:
    return "".join(_DIGITS[(number >> (5 * place)) & 31] for place in range(length))


def _check(text: str) -> str:
    return _base32(zlib.crc32(text.encode()), _CHECK)
