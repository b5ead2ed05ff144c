"""The sweep as its users meet it: the contract, resuming, and verdicts on planted faults."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.sweeping import PLANTED, Ran, arguments, axes, environment, fxrace

pytestmark = pytest.mark.slow

CONTRACT = (
    "sweep", "--gpus", "8", "--axis", "locking=none,whole_step",
    "--axis", "checkpoint=off,nonreentrant", "--axis", "warmup=none", "--repeat", "2", "--json",
)  # fmt: skip


def cell_trials(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [t for t in document["trials"] if t["knobs"]["execution"] != "oracle"]


@pytest.fixture(scope="module")
def contracted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    """The sweep of the contract, killed in mid-run by SIGKILL and then run to its end."""
    folder = tmp_path_factory.mktemp("contract")
    process = subprocess.Popen(
        arguments(*CONTRACT), cwd=folder, env=environment(),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        _wait_for_trials(folder / "fxrace-out" / "trials", process)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    return folder, fxrace(*CONTRACT, cwd=folder)


def _wait_for_trials(trials: Path, process: subprocess.Popen[str]) -> None:
    """Until at least four trial folders have been made (two of them are the references)."""
    deadline = time.monotonic() + 300
    while len(list(trials.glob("*"))) < 4:
        assert process.poll() is None, "the sweep ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_killed_sweep_completes_with_every_trial_once(contracted: tuple[Path, Ran]) -> None:
    _, ran = contracted
    assert ran.status == 0, ran.stderr
    trials = ran.document["trials"]
    assert max(Counter(t["digest"] for t in trials).values()) == 1
    expected = 2 * 2 * 2 * 2 * 2  # locking, checkpoint, attention, pressure, repeat
    assert len(cell_trials(ran.document)) == expected
    assert {t["verdict"] for t in trials} <= {"CLEAN", "RAISED", "WRONG"}


def test_the_document_is_the_contracted_one(contracted: tuple[Path, Ran]) -> None:
    document = contracted[1].document
    assert list(document)[:2] == ["schema", "schema_version"]
    assert {"environment", "trials", "cells", "findings", "report"} <= set(document)
    trial = cell_trials(document)[0]
    assert {
        "digest", "knobs", "seed", "verdict", "symptom", "duration_s", "findings", "throughput",
        "compiles", "peak_memory_bytes",
    } <= set(trial)  # fmt: skip
    assert set(document["cells"][0]) >= {"knobs", "verdicts", "failure_rate", "throughput"}
    assert set(document["cells"][0]["failure_rate"]) == {"k", "n", "low", "high"}
    assert Path(document["report"]).is_file()


def test_running_it_again_runs_no_trial_twice(contracted: tuple[Path, Ran]) -> None:
    folder, first = contracted
    began = time.time()
    again = fxrace(*CONTRACT, cwd=folder)
    assert again.status == 0
    new = [p for p in (folder / "fxrace-out" / "trials").glob("*") if p.stat().st_mtime > began]
    assert new == []
    assert [t["digest"] for t in again.document["trials"]] == [
        t["digest"] for t in first.document["trials"]
    ]


def test_uncompiled_flex_under_hold_raises_and_replays(contracted: tuple[Path, Ran]) -> None:
    folder, ran = contracted
    raised = [
        t for t in cell_trials(ran.document)
        if t["knobs"] | {"locking": "none", "attention": "flex_eager", "pressure": "hold"}
        == t["knobs"]
    ]  # fmt: skip
    assert raised
    assert {t["verdict"] for t in raised} == {"RAISED"}
    found = {f["fingerprint"]: f for f in ran.document["findings"]}
    named = [found[fp] for t in raised for fp in t["findings"]]
    assert any(f["state"] and all(side["stack"] for side in f["sides"]) for f in named)
    again = fxrace("replay", raised[0]["digest"], "--repeat", "3", "--json", cwd=folder)
    assert again.status == 0, again.stderr
    assert again.document["reproduced"]["k"] == again.document["reproduced"]["n"] == 3


def test_each_attention_has_a_surviving_cell(contracted: tuple[Path, Ran]) -> None:
    surviving = {
        cell["knobs"]["attention"]
        for cell in contracted[1].document["cells"]
        if set(cell["verdicts"]) == {"CLEAN"}
    }
    assert surviving == {"flex", "flex_eager"}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One sweep over a clean part and the planted ones: (locking/checkpoint) -> trial."""
    folder = tmp_path_factory.mktemp("planted")
    ran = fxrace(
        "sweep", "--gpus", "8", "--parts", str(PLANTED), "--silence", "3", "--json", "--steps", "3",
        *axes(
            locking=["none", "opposite_order", "aborts", "does_not_import"],
            checkpoint=["off", "wrong_gradient"],
        ),
        cwd=folder,
    )  # fmt: skip
    assert ran.status == 0, ran.stderr
    document = ran.document
    trials = {(t["knobs"]["locking"], t["knobs"]["checkpoint"]): t for t in cell_trials(document)}
    return {"trials": trials, "findings": {f["fingerprint"]: f for f in document["findings"]}}


@pytest.mark.parametrize(
    ("locking", "checkpoint", "verdict"),
    [
        ("none", "off", "CLEAN"),
        ("none", "wrong_gradient", "WRONG"),
        ("opposite_order", "off", "HUNG"),
        ("aborts", "off", "CRASHED"),
        ("does_not_import", "off", "BROKEN"),
    ],
)
def test_planted(planted: dict[str, Any], locking: str, checkpoint: str, verdict: str) -> None:
    assert planted["trials"][locking, checkpoint]["verdict"] == verdict


def test_a_planted_deadlock_shows_both_stacks(planted: dict[str, Any]) -> None:
    trial = planted["trials"]["opposite_order", "off"]
    (finding,) = (planted["findings"][fp] for fp in trial["findings"])
    assert finding["pattern"] == "hang"
    assert {side["thread"] for side in finding["sides"]} == {"drafter-0", "drafter-1"}
    for side in finding["sides"]:
        assert any(frame["file"].endswith("opposite_order.py") for frame in side["stack"])


def test_a_planted_abort_names_the_signal(planted: dict[str, Any]) -> None:
    assert "SIGABRT" in planted["trials"]["aborts", "off"]["symptom"]


def test_nothing_is_clean_beside_a_reference_that_is_wrong_alone(tmp_path: Path) -> None:
    """Threads agree with it to the last digit: both use the same wrong kernel."""
    ran = fxrace(
        "sweep", "--gpus", "3", "--split", "1:2", "--parts", str(PLANTED), "--json", "--steps", "3",
        *axes(attention=["dense", "wrong_keys"]),
        cwd=tmp_path,
    )  # fmt: skip
    assert ran.status == 0, ran.stderr
    trials = {t["knobs"]["attention"]: t for t in cell_trials(ran.document)}
    assert trials["dense"]["verdict"] == "CLEAN"
    assert trials["wrong_keys"]["verdict"] == "BLIND"
    alone = [t for t in ran.document["trials"] if t["verdict"] == "WRONG"]
    assert [t["knobs"]["execution"] for t in alone] == ["oracle", "oracle"]
    assert alone[0]["symptom"] in trials["wrong_keys"]["symptom"]
    assert alone[0]["symptom"] in ran.stderr
    (finding,) = (f for f in ran.document["findings"] if f["pattern"] == "unlike_plain")
    assert sorted(finding["trials"]) == sorted(t["digest"] for t in alone)
