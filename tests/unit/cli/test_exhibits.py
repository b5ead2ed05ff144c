"""What stands beside a document on its page, from an output folder in any state."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from fxrace.commands import _exhibits
from fxrace.launch import py_spy
from fxrace.launch.bundled import root
from fxrace.launch.record_file import EVENTS
from fxrace.records.document import SweepDocument
from fxrace.records.verdict import Verdict
from tests.unit.render import documents, explorations

GOLDEN = Path(__file__).parents[2] / "golden"
RAISED, DEADLOCK = GOLDEN / "raised-fx-patcher", GOLDEN / "deadlock-compile-lock-device-thread"
KNOBS = {axis: values[0] for axis, values in documents.AXES.items()}


def recorded(output: Path) -> SweepDocument:
    """Three failing trials: one with its record, a deadlock, and one whose folder is gone."""
    stacks = py_spy.parse((DEADLOCK / "py-spy.json").read_text())
    rows = [
        documents.trial(KNOBS, 1, Verdict.RAISED, findings=("fx.flag:5c0d8e1a",)),
        documents.trial(KNOBS, 2, Verdict.HUNG, stacks=stacks),
        documents.trial(KNOBS, 3, Verdict.RAISED),
        documents.trial(KNOBS, 4, Verdict.CLEAN),
    ]
    for row, source in zip(rows, (RAISED, DEADLOCK), strict=False):
        folder = output / "trials" / row.digest
        folder.mkdir(parents=True)
        shutil.copy(source / EVENTS, folder / EVENTS)
    return documents.document(rows)


def test_failing_trials_bring_their_timelines_and_waits(tmp_path: Path) -> None:
    document = recorded(tmp_path)
    found = _exhibits.of_sweep(document, tmp_path)
    raised, hung, *_ = [t.digest for t in document.trials if t.verdict.failed]
    assert set(found.timelines) == {raised, hung}
    assert all(one.spans for one in found.timelines.values())
    assert set(found.waits) == {hung}
    assert len(found.waits[hung]) >= 2
    assert set(found.moments) == {row.fingerprint for row in document.findings}
    assert found.hazards


def test_a_record_cut_off_in_mid_write_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    document = recorded(tmp_path)
    path = tmp_path / "trials" / f"{1:016x}" / EVENTS
    whole = len(_exhibits.of_sweep(document, tmp_path).timelines[f"{1:016x}"].spans)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert 0 < len(_exhibits.of_sweep(document, tmp_path).timelines[f"{1:016x}"].spans) < whole


def test_a_folder_that_is_gone_leaves_its_place_empty(tmp_path: Path) -> None:
    found = _exhibits.of_sweep(recorded(tmp_path), tmp_path / "elsewhere")
    assert not found.timelines
    assert found.moments


def test_scripts_are_read_and_a_missing_one_is_no_failure(tmp_path: Path) -> None:
    document = explorations.exploration()
    script = root() / "repros" / "fx-flag-crash.py"
    first, second, *rest = document.findings
    rows = (replace(first, repro=str(script)), replace(second, repro=str(tmp_path / "gone")), *rest)
    found = _exhibits.of_exploration(replace(document, findings=rows))
    assert found.scripts == {first.fingerprint: script.read_text()}
    assert all(any(moment.swap for moment in one) for one in found.moments.values())
