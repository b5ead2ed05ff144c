"""Comparisons as text: nothing hostile reaches a terminal, and nothing is endless."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fxrace.core import history
from fxrace.core.baseline import EMPTY, compare
from fxrace.core.diff import diff
from fxrace.core.looks import look_at
from fxrace.core.subjects import cells, subject
from fxrace.records.document import SweepDocument
from fxrace.records.triage import GateDocument, HistoryDocument
from fxrace.records.verdict import Verdict
from fxrace.render.view import compared
from tests.unit.render import documents
from tests.unit.render.test_formats import HOSTILE, Huge

BAD = Huge(HOSTILE + "y" * 1_000_000)


def given(prefix: str) -> SweepDocument:
    """A sweep in which every text is hostile; its causes are told apart by ``prefix``."""
    trial = documents.trial({"locking": BAD}, 1, Verdict.RAISED, findings=(f"{prefix}{HOSTILE}",))
    row = documents.finding(
        (trial.digest,), fingerprint=f"{prefix}{HOSTILE}", title=BAD, state=BAD, hazard=BAD,
        replay=BAD, suppressed=BAD,
    )  # fmt: skip
    where = replace(documents.environment(), torch=BAD, platform=f"{prefix}{HOSTILE}")
    return documents.document([trial], axes={}, findings=(row,), environment=where)


def gate() -> str:
    document = given("a")
    told = compare(EMPTY, look_at(document))
    shown = GateDocument(
        schema="fxrace.gate", schema_version=1, baseline=BAD,
        subject=subject(document, cells(document), name=BAD), blocking=(), new=told.new,
        known=(), fixed=told.new, broken=told.new, suppressed={BAD: BAD}, unused=(), expired=(),
        replay={told.new[0].fingerprint: BAD}, updated=False,
    )  # fmt: skip
    return compared.gate(shown)


def lives() -> str:
    past = [history.Past(number=1, started=BAD, document=given("a"))]
    return compared.history(
        HistoryDocument(
            schema="fxrace.history", schema_version=1, store=BAD, runs=1, lives=history.lives(past)
        )
    )


SHOWN = {
    "diff": lambda: compared.diff(diff(given("a"), given("b"), names=(BAD, BAD))),
    "gate": gate,
    "history": lives,
}


@pytest.mark.parametrize("name", SHOWN)
def test_hostile_text_is_shown_as_text(name: str) -> None:
    text = SHOWN[name]()
    assert "alert(1)" in text
    assert not {"\x1b", "\u202e", "\udc80"} & set(text)
    assert len(text) < 20_000
