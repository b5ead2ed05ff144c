"""Who holds the interpreter lock: programs of known shares, and what is said when it is refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.figures import gil
from harness.figures.gil import RATE, UNNAMED, Refused, Sampling, counted
from tests.unit.harness_threads.trials import run_trial

SAMPLED_S = 1.5
KNOBS = {"attention": "dense"}


@contextmanager
def threads(busy: int) -> Iterator[None]:
    """So many threads that do nothing but Python, and one that sleeps."""
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            sum(range(200))

    made = [threading.Thread(target=work, name=f"busy-{number}") for number in range(busy)]
    made.append(threading.Thread(target=over.wait, name="sleeper"))
    for thread in made:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in made:
            thread.join()


def sampled() -> tuple[dict[str, float], int]:
    sampling = Sampling()
    last_s = time.monotonic() + 20
    while not sampling._began_s and sampling._process.poll() is None:
        assert time.monotonic() < last_s
        time.sleep(0.01)
    time.sleep(SAMPLED_S)  # what is measured is a length of time
    try:
        return sampling.shares()
    except Refused as refused:
        if "py-spy failed" in str(refused):
            pytest.skip(str(refused))
        raise


def test_a_busy_thread_beside_a_sleeping_one() -> None:
    with threads(1):
        shares, looks = sampled()
    assert shares["busy-0"] > 0.6
    assert shares.get("sleeper", 0.0) < 0.1
    assert looks == pytest.approx(SAMPLED_S * RATE, rel=0.5)
    assert sum(shares.values()) <= 1.0 + 1e-9


def test_two_busy_threads_share_it() -> None:
    with threads(2):
        shares, _ = sampled()
    assert 0.6 < shares["busy-0"] + shares["busy-1"] <= 1.0 + 1e-9
    assert max(shares["busy-0"], shares["busy-1"]) < 0.9


def test_nobody_holds_it_while_all_sleep() -> None:
    """The red twin: without work there is no share, whatever the number of looks."""
    with threads(0):
        shares, looks = sampled()
    assert looks > RATE * SAMPLED_S / 2
    assert sum(shares.values()) < 0.3


@pytest.mark.slow
def test_a_trial_says_what_its_threads_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gil, "FEWEST_LOOKS", 10)
    trace = run_trial(tmp_path, KNOBS, drafters=2, steps=250, gil_share=True)
    notes = [event.data["text"] for event in trace.of("note")]
    if any("py-spy failed" in note for note in notes):
        pytest.skip(notes[0])
    (event,) = trace.of("gil")
    assert event.data["looks"] >= gil.FEWEST_LOOKS
    assert {"drafter-0", "drafter-1"} <= set(event.data["shares"])
    assert 0.1 < sum(event.data["shares"].values()) <= 1.0 + 1e-9


def test_a_short_trial_says_that_it_is_too_short(tmp_path: Path) -> None:
    trace = run_trial(tmp_path, KNOBS, drafters=2, steps=3, gil_share=True)
    assert not list(trace.of("gil"))
    (note,) = trace.of("note")
    assert "not every drafter got beyond its first 4 steps" in note.data["text"]


def test_who_did_not_ask_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gil, "Sampling", None)
    trace = run_trial(tmp_path, KNOBS, drafters=2, steps=6)
    assert not list(trace.of("gil", "note", "raised"))


@pytest.mark.slow
def test_a_refusal_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    denied = tmp_path / "py-spy"
    denied.write_text("#!/bin/sh\necho 'Permission Denied: Try running again' >&2\nexit 1\n")
    denied.chmod(0o755)
    monkeypatch.setenv(gil.VARIABLE, str(denied))
    trace = run_trial(tmp_path, KNOBS, drafters=2, steps=40, gil_share=True)
    assert [event.data["text"] for event in trace.of("note")] == [
        "GIL share not measured: py-spy failed (Permission Denied: Try running again)"
    ]
    assert not list(trace.of("raised", "gil"))
    assert len(list(trace.of("step"))) == 80


def test_looks_are_counted_by_thread() -> None:
    raw = (
        "thread (0x7F01): drafter-0;_bootstrap (threading.py:1);run (x.py:2) 30\n"
        "thread (0x7F02): drafter-0;other (y.py:3) 2\n"
        "thread (0x7F03);backward (z.py:4) 7\n"
        "nonsense\n"
    )
    assert counted(raw) == {"drafter-0": 32, UNNAMED: 7}
