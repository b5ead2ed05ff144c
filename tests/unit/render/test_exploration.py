"""The matrix in every format: complete, closed, small, and safe from what trials print."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fxrace.records.exploration import ExploreDocument, PairVerdict
from fxrace.records.finding import Frame
from fxrace.render.exploration import html, markdown, text
from fxrace.render.view.matrix import MORE, SAFE, SAMPLED, headline, matrix
from tests.unit.render import documents, explorations
from tests.unit.render.test_formats import HOSTILE, Page


def hostile() -> ExploreDocument:
    """Every text a trial can influence, made hostile."""
    frames = tuple(Frame(file=HOSTILE * 40, line=n, function=HOSTILE * 9) for n in range(300))
    known = explorations.exploration()
    side = replace(known.findings[0].sides[0], stack=frames, access=HOSTILE, thread=HOSTILE)
    row = replace(
        known.findings[0], title=HOSTILE, sides=(side, side), symptoms=(HOSTILE * 50,) * 30,
        remedy=HOSTILE,
    )  # fmt: skip
    pairs = tuple(
        replace(p, verdict=PairVerdict.INCONCLUSIVE, reason=HOSTILE * 99) for p in known.pairs
    )
    return replace(known, findings=(row, *known.findings[1:]), pairs=pairs)


@pytest.mark.parametrize(
    "document",
    [explorations.exploration(), explorations.document(()), hostile()],
    ids=["full", "empty", "hostile"],
)
def test_the_page_is_closed_and_its_links_lead_somewhere(document: ExploreDocument) -> None:
    page = html.render(document)
    parsed = Page(page)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert set(parsed.targets) <= set(parsed.ids)
    assert [kind for kind, _ in parsed.scripts] == ["application/json", None]
    assert not {name for name in parsed.attributes if name.startswith("on")}
    assert len(page) < 1_000_000


def test_every_pair_has_one_cell_and_its_gravest_cause() -> None:
    document = explorations.exploration()
    laid = matrix(document)
    assert set(laid.cells) == {(pair.a, pair.b) for pair in document.pairs}
    for pair in document.pairs:
        sign = laid.cells[pair.a, pair.b].sign
        if pair.verdict is PairVerdict.FINDING:
            assert sign == laid.letters[pair.findings[0]]
        elif pair.verdict is PairVerdict.SAFE:
            assert sign == (SAFE if pair.exhausted else SAMPLED)


def test_more_causes_than_letters_share_a_sign() -> None:
    causes = tuple(explorations.cause(n, ()) for n in range(60))
    letters = matrix(explorations.document((), causes)).letters
    assert len(set(letters.values())) == 53
    assert letters[causes[-1].fingerprint] == MORE


@pytest.mark.parametrize("width", [80, 100, 40])
def test_the_terminal_shows_every_pair_whatever_the_width(width: int) -> None:
    document = explorations.exploration()
    shown = text.render(document, width=width)
    laid = matrix(document)
    signs = {cell.sign for cell in laid.cells.values()}
    rows = [line for line in shown.splitlines() if line.split(" ")[0] in laid.rows]
    drawn = "".join(line[len(max(laid.rows, key=len)) + 1 :] for line in rows if "pair" not in line)
    assert set(drawn) >= signs
    assert shown.splitlines()[-1] in headline(document) or "uncatalogued" in shown


def test_nothing_said_where_nothing_ran() -> None:
    assert "nothing can be said" in headline(explorations.document(()))
    skipped = explorations.pair(0, "a", "b", PairVerdict.SKIPPED, reason="no such torch")
    assert "nothing can be said" in headline(explorations.document((skipped,)))


def test_an_issue_has_all_that_maintainers_ask_for() -> None:
    row = explorations.cause(1, ("0" * 16,))
    told = markdown.render(row, documents.environment(), "import torch\n")
    for wanted in ("# the patched", "## Reproducer", "import torch", "## Expected", "## Actual",
                   "fx.module_call", "torch/fx/_symbolic_trace.py", "## Workaround", "torch 2.12",
                   "20 of 20"):  # fmt: skip
        assert wanted in told
    assert told.count("```") % 2 == 0


def test_hostile_text_stays_inside_its_fence() -> None:
    row = replace(explorations.cause(1, ()), symptoms=("a\n```\n# owned\x1b[2J",), title="x\n# y")
    told = markdown.render(row, documents.environment(), None)
    assert not re.search(r"^# (owned|y)", told, re.M)
    assert "\x1b" not in told
    assert "## Reproducer" not in told
