"""The registry resolves on this torch, and tells a leak from what may change for good."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import torch

from fxrace.core.states import STATES
from fxrace.probe import states
from fxrace.probe.attach import families
from fxrace.records.state import Keeping
from tests.unit.probe.recording import Recording


def holder_of(name: str) -> tuple[object, str]:
    module, _, path = next(s for s in STATES if s.name == name).attribute.partition(":")
    holder: object = importlib.import_module(module)
    *outer, last = path.split(".")
    for part in outer:
        holder = getattr(holder, part)
    return holder, last


def test_every_state_resolves_or_is_not_in_this_torch() -> None:
    seen = states.snapshot(*Keeping)
    assert seen.unresolved == {}
    absent = {s.name for s in STATES if not s.shared_in(states.version())}
    assert set(seen.values) | absent == {s.name for s in STATES}
    assert len(seen.values) >= 25


def test_names_and_attributes_are_unique_and_every_row_says_why() -> None:
    assert len({s.name for s in STATES}) == len({s.attribute for s in STATES}) == len(STATES)
    assert all(s.why and s.borrowed_by for s in STATES)
    assert all(s.since is None or s.until is None or s.since < s.until for s in STATES)


def test_every_kind_that_borrows_is_one_that_a_hook_reports_or_the_row_says_why_not() -> None:
    reported = {
        value
        for family in families().values()
        for name, value in vars(family).items()
        if name.isupper() and isinstance(value, str)
    }
    for state in STATES:
        assert (state.borrowed_by in reported) is not bool(state.unhooked), state.name


@pytest.mark.parametrize("name", ["fx.patcher", "nn.module_call", "fx.traceback_meta"])
def test_a_state_off_its_baseline_is_a_leak_and_put_back_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    recording = Recording(tmp_path)
    before = states.snapshot()
    holder, last = holder_of(name)
    with monkeypatch.context() as patch:
        patch.setattr(holder, last, {"custom": {}} if "meta" in name else (lambda *_: None))
        states.record_leaks(recording.recorder, before)
    assert [event.data["state"] for event in recording.of("leak")] == [name]
    states.record_leaks(recording.recorder, before)
    assert len(recording.of("leak")) == 1


@pytest.mark.parametrize(
    "name", ["dynamo.stance", "inductor.kernel_counts", "dynamo.current_frame"]
)
def test_a_lasting_state_has_no_baseline_to_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    recording = Recording(tmp_path)
    before = states.snapshot()
    monkeypatch.setattr(*holder_of(name), 17)
    states.record_leaks(recording.recorder, before)
    assert recording.of("leak", "blind") == []


def test_an_equal_container_in_place_of_another_is_no_leak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(tmp_path)
    before = states.snapshot()
    monkeypatch.setattr(torch.fx.traceback, "current_meta", {})
    states.record_leaks(recording.recorder, before)
    assert recording.of("leak", "blind") == []


def test_a_compile_with_backward_leaves_every_state_as_it_was(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    before = states.snapshot()
    compiled = torch.compile(lambda x: (x.sin() * 5).sum(), backend="aot_eager")
    compiled(torch.ones(3, requires_grad=True)).backward()
    states.record_leaks(recording.recorder, before)
    assert recording.of("leak", "blind") == []
