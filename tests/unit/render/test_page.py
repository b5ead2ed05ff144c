"""The data, the cards and the drawings of a report, as records: complete, small and harmless."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace

import jsonschema
import pytest

from fxrace.core.suppressions import parse
from fxrace.records import wire
from fxrace.records.document import FindingRow, SweepDocument
from fxrace.records.hazard import Hazard, Layer
from fxrace.records.page import Exhibits, PageDocument, Point
from fxrace.records.stuck import Edge
from fxrace.records.verdict import Verdict
from fxrace.render import html
from fxrace.render.view import grid, ring
from fxrace.render.view.cards import Card, Cards, anchors
from fxrace.render.view.front import points
from fxrace.render.view.page import Page, page
from fxrace.render.view.page_data import cell_id, embedded
from fxrace.render.view.stacks import Room
from fxrace.render.view.versions import versions
from tests.unit.render import documents, timelines
from tests.unit.render.test_formats import HOSTILE, data_of, hostile

SWEEP = documents.sweep()


def shown(document: SweepDocument, exhibits: Exhibits | None = None) -> Page:
    return page(document, exhibits or Exhibits())


@pytest.mark.parametrize(
    "document", [SWEEP, documents.document([]), hostile(20)], ids=["full", "empty", "hostile"]
)
def test_the_data_keeps_its_published_schema(document: SweepDocument) -> None:
    plain = json.loads(embedded(shown(document, timelines.exhibits(document)).data))
    jsonschema.Draft202012Validator(wire.schema(PageDocument)).validate(plain)
    assert list(plain)[:2] == ["schema", "schema_version"]
    assert plain["schema"] == "fxrace.page"


def test_every_trial_and_cell_is_in_the_data_with_its_figures() -> None:
    data = shown(SWEEP).data
    assert len(data.trials) == len(SWEEP.trials)
    assert len(data.cells) == len(SWEEP.cells)
    for line, trial in zip(data.trials, SWEEP.trials, strict=True):
        assert line.digest == trial.digest
        assert data.verdicts[line.verdict].name == trial.verdict.value
        assert data.texts[line.replay].replace("%DIGEST%", trial.digest) == trial.replay
        assert (line.cell == -1) is grid.reference(trial.knobs)
        assert (data.texts[line.symptom] if line.symptom >= 0 else "") == trial.symptom
    counted = Counter(line.cell for line in data.trials)
    for number, cell in enumerate(data.cells):
        assert counted[number] == sum(count for _, count in cell.verdicts)
        known = [values[knob] for values, knob in zip(data.axes.values(), cell.knobs, strict=True)]
        assert dict(zip(data.axes, known, strict=True)) == SWEEP.cells[number].knobs


def test_a_cell_has_one_name_in_every_report() -> None:
    names = {cell.id for cell in shown(SWEEP).data.cells}
    assert len(names) == len(SWEEP.cells)
    turned = replace(SWEEP, cells=SWEEP.cells[::-1])
    assert {cell.id for cell in shown(turned).data.cells} == names
    assert cell_id({"a": "1", "b": "2"}) == cell_id({"b": "2", "a": "1"})


def test_one_axis_and_none_still_have_rows() -> None:
    one = documents.document([documents.trial({"locking": "none"}, 1, Verdict.CLEAN)], axes={})
    assert (shown(one).data.rows, shown(one).data.columns) == ("locking", "")
    assert shown(documents.document([], axes={})).data.rows == ""


def test_nothing_in_the_data_can_end_its_element() -> None:
    text = embedded(shown(hostile(5)).data)
    assert not {"<", ">", "&"} & set(text)
    assert any("<script>" in shown and "\\udc80" in shown for shown in json.loads(text)["texts"])


def test_ten_thousand_trials_stay_small() -> None:
    many = documents.sweep(repeats=93)
    assert len(many.trials) > 10_000
    assert len(html.render(many).encode()) < 2_500_000


def test_timelines_take_the_room_there_is() -> None:
    long = timelines.long_one(spans=1500)
    failing = [trial.digest for trial in SWEEP.trials if trial.verdict.failed]
    kept = shown(SWEEP, Exhibits(timelines=dict.fromkeys(failing, long))).data.timelines
    assert 0 < len(kept) < len(failing)
    assert list(kept) == failing[: len(kept)]


def test_the_front_is_what_nothing_beats() -> None:
    every = [point for _, point in points(SWEEP)]
    front = [point for point in every if point.front]
    assert front
    for point in front:
        assert not any(beats(other, point) for other in every)
    for point in every:
        assert point.front or point.speed is None or any(beats(other, point) for other in front)


def beats(one: Point, other: Point) -> bool:
    if one.speed is None or other.speed is None:
        return False
    a, b = (-one.k / one.n, one.speed[0]), (-other.k / other.n, other.speed[0])
    return a != b and a[0] >= b[0] and a[1] >= b[1]


def test_points_stand_for_all_cells_but_pressure() -> None:
    cells = [number for _, point in points(SWEEP) for number in point.cells]
    assert len(cells) == len(set(cells))
    assert all(len(point.cells) == 2 for _, point in points(SWEEP))


def hazard(slug: str, evidence: dict[str, str] | None = None) -> Hazard:
    return Hazard(
        slug=slug, title="a title", layer=Layer.FX, states=("fx.patcher",), regions=(),
        patterns=("exception",), racy=Verdict.RAISED, remedy="a lock", since="2.6",
        evidence=evidence or {},
    )  # fmt: skip


def test_the_version_matrix_is_sorted_by_version_and_by_what_was_met() -> None:
    told = "RAISED 5 of 5; guarded CLEAN 5 of 5"
    known = (hazard("a", {"2.13.0": "odd words"}), hazard("b", {"2.6.0": told, "2.13.0": told}))
    laid = versions(known, (documents.finding((), hazard="b"),))
    assert laid.torches == ("2.6.0", "2.13.0")
    assert [(line.hazard.slug, line.met) for line in laid.lines] == [("b", 1), ("a", 0)]
    first, second = laid.lines[0].seen[0], laid.lines[1].seen[1]
    assert first is not None and (first.verdict, first.short) == (Verdict.RAISED, "5 of 5")
    assert second is not None and (second.verdict, second.told) == (None, "odd words")
    assert laid.lines[1].seen[0] is None


def card_of(**changes: object) -> tuple[Card, FindingRow]:
    row = documents.finding(("0" * 16,), **changes)
    exhibits = Exhibits(scripts={row.fingerprint: "import torch\n"}, hazards=(hazard("known"),))
    card = Cards(exhibits, documents.environment(), Room(10_000)).card(row, (), "finding-x")
    return card, row


def test_a_card_says_why_and_has_all_that_can_be_pasted() -> None:
    card, row = card_of(hazard="known", state="fx.patcher")
    assert "a title" in card.cause and "CURRENT_PATCHER" in card.cause
    before, after = card.issue
    assert before.rstrip().endswith("```python")
    assert after.lstrip().startswith("```")
    assert card.script == "import torch\n"
    ready = card.suppression.replace('reason = ""', 'reason = "known"')
    assert parse(ready, name="x")[0].fingerprint == row.fingerprint
    assert any(moment.swap for moment in card.moments)


def test_an_uncatalogued_finding_says_so() -> None:
    card, _ = card_of(state=None)
    assert "first report" in card.cause


def test_scripts_beyond_the_room_are_named_and_not_shown() -> None:
    rows = [documents.finding((), fingerprint=f"f{n}") for n in range(3)]
    exhibits = Exhibits(scripts={row.fingerprint: "#" * 90_000 for row in rows})
    maker = Cards(exhibits, documents.environment(), Room(10_000))
    cards = [maker.card(row, (), row.fingerprint) for row in rows]
    assert [card.left_out for card in cards] == [False, False, True]


def test_anchors_are_plain_and_unique() -> None:
    rows = [documents.finding((), fingerprint=text) for text in (HOSTILE, HOSTILE + "!", "a:1")]
    found = anchors(rows)
    assert len(set(found.values())) == 3
    assert found["a:1"] == "finding-a:1"
    assert all(re.fullmatch(r"[\w.:-]+", text, re.ASCII) for text in found.values())


RING = (
    Edge(waiter="a", waits_for="one", held_by="b", stack=()),
    Edge(waiter="b", waits_for="two", held_by="a", stack=()),
)


def test_a_circle_is_drawn_with_an_arrow_per_wait() -> None:
    drawn = ring.drawn(RING, "n")
    assert drawn.count("r-node") == drawn.count("r-edge") == 2
    assert "style=" not in drawn
    assert ring.drawn((replace(RING[0], held_by=None),), "n") == ""
    odd = ring.drawn((replace(RING[0], waiter=HOSTILE, waits_for=HOSTILE), RING[1]), HOSTILE)
    assert "<script" not in odd


@pytest.mark.parametrize(("edges", "closed"), [(RING, True), (RING[:1], False), ((), False)])
def test_only_a_circle_is_called_one(edges: tuple[Edge, ...], closed: bool) -> None:
    hung = next(trial for trial in SWEEP.trials if trial.stacks)
    stuck = shown(SWEEP, Exhibits(waits={hung.digest: edges})).stuck
    assert next(one for one in stuck if one.trial is hung).closed is closed


def test_the_page_embeds_what_the_view_decided() -> None:
    plain = data_of(html.render(SWEEP))
    assert plain == json.loads(wire.encode(shown(SWEEP).data))
