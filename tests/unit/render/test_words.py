"""Figures keep their counts, and text from a trial cannot act on what shows it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxrace.core.interval import wilson
from fxrace.records.tally import Spread
from fxrace.records.verdict import Verdict
from fxrace.render.view import words


def test_every_verdict_has_a_letter_of_its_own() -> None:
    assert set(words.LETTERS) == set(words.MEANINGS) == set(words.SEVERITY) == set(Verdict)
    letters = [*words.LETTERS.values(), words.PENDING]
    assert len(set(letters)) == len(letters)
    assert all(len(letter) == 1 for letter in letters)


def test_a_cell_shows_its_gravest_verdict() -> None:
    assert words.worst({"CLEAN": 9, "RAISED": 1, "HUNG": 1}) is Verdict.HUNG
    assert words.worst({"CLEAN": 1, "BLIND": 9}) is Verdict.CLEAN
    assert words.worst({"SKIPPED": 1}) is Verdict.SKIPPED
    assert words.worst({"RAISED": 0}) is None


@given(st.text(alphabet=st.characters(), max_size=300), st.integers(1, 100))
def test_safe_text_is_harmless_and_bounded(text: str, limit: int) -> None:
    shown = words.safe(text, limit)
    assert not any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 for c in shown)
    assert not any("\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069" for c in shown)
    shown.encode("utf-8")
    assert len(shown) <= limit + len("\u2026 [9,999,999 more characters]") + 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://e\x1b\\link", "link"),
        ("a\x08b", "a\ufffdb"),
        ("\udc80", "\\udc80"),
        ("a\u202eb", "a\ufffdb"),
        ("short", "short"),
    ],
)
def test_safe(text: str, shown: str) -> None:
    assert words.safe(text, 100) == shown


def test_ten_megabytes_are_cut_with_a_note() -> None:
    shown = words.safe("x" * 10_000_000, 50)
    assert shown == "x" * 50 + " \u2026 [9,999,950 more characters]"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (7.123, "7.12"), (950, "950"), (999.9, "1k"), (2800, "2.8k"), (1_340_000, "1.34M")],
)
def test_figure(value: float, shown: str) -> None:
    assert words.figure(value) == shown


def test_rates_and_spreads_keep_their_counts() -> None:
    assert words.rate(wilson(2, 5)) == "2 of 5 (12\u201377\u00a0%)"
    assert words.rate(wilson(0, 0)) == "0 of 0"
    assert words.spread(Spread(median=2800, low=2500, high=3100, n=3)) == ("2.8k (2.5k\u20133.1k)")
    assert words.spread(Spread(median=2800, low=2800, high=2800, n=1)) == "2.8k"
    assert words.spread(None) == "\u2013"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.42, "0.4 s"), (42, "42 s"), (59.99, "60 s"), (185, "3 min 5 s"), (7440, "2 h 4 min")],
)
def test_seconds(value: float, shown: str) -> None:
    assert words.seconds(value) == shown
