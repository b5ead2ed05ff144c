"""Records survive the trip through JSON, and the published schemas are the true ones."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fxrace
from fxrace.core.interval import wilson
from fxrace.records import wire
from fxrace.records.document import ReplayDocument, SweepDocument
from fxrace.records.event import Event
from fxrace.records.outcome import Outcome
from fxrace.records.trial import Limits, Trial
from fxrace.records.verdict import Verdict
from tests.unit.render import documents

SCHEMAS = Path(fxrace.__file__).parent / "schemas"


@pytest.mark.parametrize("name", wire.DOCUMENTS)
def test_the_published_schema_is_the_generated_one(name: str) -> None:
    published = json.loads((SCHEMAS / f"{name}.json").read_text())
    assert published == json.loads(wire.published(name)), "write wire.published(name) to the file"


def test_nothing_else_is_published() -> None:
    assert {path.stem for path in SCHEMAS.glob("*.json")} == set(wire.DOCUMENTS)


def replay_document() -> ReplayDocument:
    sweep = documents.sweep(repeats=1)
    return ReplayDocument(
        schema="fxrace.replay", schema_version=1, environment=sweep.environment,
        trial=sweep.trials[2], runs=sweep.trials[2:4], reproduced=wilson(1, 2), interrupted=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "document"),
    [("sweep", documents.sweep(repeats=1)), ("sweep", documents.document([])),
     ("replay", replay_document())],
)  # fmt: skip
def test_documents_validate_and_come_back_equal(name: str, document: object) -> None:
    text = wire.encode(document)
    plain = json.loads(text)
    jsonschema.Draft202012Validator(wire.schema(wire.DOCUMENTS[name])).validate(plain)
    assert list(plain)[:2] == ["schema", "schema_version"]
    assert wire.encode(wire.decode(wire.DOCUMENTS[name], text)) == text


def test_a_trial_says_where_each_drafters_time_went() -> None:
    trials = json.loads(wire.encode(documents.sweep(repeats=1)))["trials"]
    told = next(trial["throughput"]["drafters"] for trial in trials if trial["throughput"])
    assert [one["drafter"] for one in told] == [0, 1, 2]
    assert list(told[0]) == [
        "drafter", "draft_slots_per_s", "step_ms", "queue_wait", "lock_wait", "handoff_ms",
        "queue_full_s",
    ]  # fmt: skip


@pytest.mark.parametrize("broken", ["verdict", "digest", "knobs"])
def test_a_wrong_document_does_not_validate(broken: str) -> None:
    plain = json.loads(wire.encode(documents.sweep(repeats=1)))
    plain["trials"][0][broken] = 7
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(wire.schema(SweepDocument)).validate(plain)


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_any_text_without_surrogates_comes_back(symptom: str, knobs: dict[str, str]) -> None:
    trial = Trial(target="a:b", knobs=knobs)
    assert wire.decode(Trial, wire.encode(trial)).digest == trial.digest
    outcome = Outcome(verdict=Verdict.RAISED, symptom=symptom, duration_s=1.5)
    assert wire.decode(Outcome, wire.encode(outcome)) == outcome


def test_lone_surrogates_are_spelled_out() -> None:
    event = Event(at_s=0.0, thread="t\udc80", ident=1, kind="note", data={"x\udcff": ["\ud800"]})
    back = wire.decode(Event, wire.encode(event))
    assert (back.thread, dict(back.data)) == ("t\\udc80", {"x\\udcff": ["\\ud800"]})


def test_unknown_fields_are_ignored_and_wrong_ones_refused() -> None:
    plain = json.loads(wire.encode(Outcome(verdict=Verdict.CLEAN, symptom="", duration_s=1.0)))
    assert wire.decode(Outcome, json.dumps({**plain, "later": 1})).verdict is Verdict.CLEAN
    with pytest.raises(msgspec.DecodeError):
        wire.decode(Outcome, json.dumps({**plain, "verdict": "FINE"}))
    with pytest.raises(ValueError, match="truncated"):
        wire.decode(Outcome, b'{"verdict": "CLEAN"')


def test_a_digest_is_over_every_field() -> None:
    """Stores hold digests, so this text may never come out otherwise."""
    given = Trial(target="a:b", knobs={"z": "1", "a": "2"}, settings={"x": None, "y": 1.5}, seed=3)
    text = json.dumps(asdict(given), sort_keys=True, separators=(",", ":"))
    assert given.digest == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert replace(given, limits=Limits(trial_s=1.0)).digest != given.digest
