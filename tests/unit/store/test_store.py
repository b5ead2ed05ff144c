"""What goes in comes out, and only what need not be measured again is known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fxrace.errors import NothingToShow
from fxrace.records.outcome import Stop
from fxrace.records.verdict import Verdict
from fxrace.store import Run, Store, StoredTrial
from tests.unit.store import samples

Append = Callable[..., StoredTrial]


def test_a_trial_comes_back_as_it_went_in(store: Store, run: Run, append: Append) -> None:
    losses = {"losses": {"0": [1.0, 0.5], "1": [2.0, None]}}
    append(payload=losses)
    (row,) = store.trials_of(run)
    assert row.trial == samples.trial()
    assert row.digest == samples.trial().digest
    assert row.ending == samples.ending()
    assert row.findings == (samples.finding("one"), samples.finding("two"))
    assert row.payload == losses
    assert row.outcome.throughput == samples.outcome().throughput
    assert not row.reused


def test_lone_surrogates_are_spelled_out_not_refused(store: Store, append: Append) -> None:
    assert append().outcome.symptom == "RuntimeError: FX \\udc80 tracing"


def test_a_trial_that_an_earlier_version_wrote_comes_back(
    store: Store, run: Run, append: Append
) -> None:
    """Text of a database as it was before a trial said where each drafter's time went."""
    append(verdict=Verdict.CLEAN, stop=Stop.EXITED)
    store._connection.execute("UPDATE trials SET outcome = ?", (samples.OLDER,))
    (row,) = store.trials_of(run)
    speed = row.outcome.throughput
    assert speed is not None and speed.windows is not None
    assert (speed.draft_slots_per_s, speed.windows.n, speed.drafters) == (5108.5, 11, ())


def test_a_run_comes_back_and_ends(store: Store, run: Run) -> None:
    assert store.latest_run() == run
    assert run.environment == samples.environment()
    assert run.command == ("fxrace", "sweep")
    assert run.settings == {"jobs": 2}
    assert run.ended is None
    store.end_run(run)
    assert store.run(run.number).ended is not None


@pytest.mark.parametrize(
    ("verdict", "stop", "known"),
    [
        (Verdict.CLEAN, Stop.EXITED, True),
        (Verdict.HUNG, Stop.SILENT, True),
        (Verdict.SKIPPED, Stop.EXITED, True),
        (Verdict.BROKEN, Stop.EXITED, False),
        (Verdict.CLEAN, Stop.INTERRUPTED, False),
        (Verdict.BLIND, Stop.NOT_STARTED, False),
    ],
)
def test_known(store: Store, append: Append, verdict: Verdict, stop: Stop, known: bool) -> None:
    row = append(verdict=verdict, stop=stop)
    assert (row.digest in store.known(samples.environment().digest)) is known
    assert store.known(samples.environment("2.6.0").digest) == {}


def test_a_broken_repeat_does_not_hide_an_earlier_result(store: Store, append: Append) -> None:
    good = append(verdict=Verdict.CLEAN, stop=Stop.EXITED)
    append(verdict=Verdict.BROKEN, stop=Stop.EXITED)
    assert store.known(samples.environment().digest)[good.digest].number == good.number


def test_the_newest_execution_counts(store: Store, append: Append) -> None:
    append(verdict=Verdict.CLEAN, stop=Stop.EXITED)
    newer = append(verdict=Verdict.RAISED, stop=Stop.EXITED)
    assert store.known(samples.environment().digest)[newer.digest].number == newer.number
    assert store.trial(newer.digest).number == newer.number


def test_a_later_run_takes_a_trial_over(store: Store, run: Run, append: Append) -> None:
    first = append(0)
    later = store.begin_run(environment=run.environment, command=("again",), settings={})
    store.link(later, store.known(run.environment.digest)[first.digest])
    store.link(later, first)
    second = append(1, into=later)
    assert [(row.number, row.reused) for row in store.trials_of(later)] == [
        (first.number, True),
        (second.number, False),
    ]
    assert [row.number for row in store.trials_of(run)] == [first.number]


def test_lookup_by_prefix(store: Store, append: Append) -> None:
    row = append()
    assert store.trial(row.digest[:6].upper()).number == row.number
    for bad in (row.digest[:5], "zzzzzz", "", "*" * 8):
        with pytest.raises(NothingToShow):
            store.trial(bad)


def test_an_ambiguous_prefix_names_the_candidates(store: Store, append: Append) -> None:
    rows = [append(seed) for seed in (0, 1)]
    # Digests that share six digits are too rare to find, so two are made to.
    for row, digest in zip(rows, ("abcdef01", "abcdef02"), strict=True):
        trial = f'{{"target": "{digest}", "knobs": {{}}}}'
        store._connection.execute(
            "UPDATE trials SET digest = ?, trial = ? WHERE id = ?", (digest, trial, row.number)
        )
    with pytest.raises(NothingToShow) as caught:
        store.trial("abcdef")
    assert all(row.digest in caught.value.remedy for row in store._trials("1"))
    assert store.trial("abcdef01").number == rows[0].number


def test_nothing_to_show(store: Store) -> None:
    for ask in (store.latest_run, lambda: store.run(7), lambda: store.trial("abcdef")):
        with pytest.raises(NothingToShow):
            ask()
