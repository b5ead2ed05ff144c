"""A store with one run begun, in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fxrace.records.outcome import Stop
from fxrace.records.verdict import Verdict
from fxrace.store import Run, Store, StoredTrial, open_store
from tests.unit.store import samples

Append = Callable[..., StoredTrial]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out" / "fxrace.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with open_store(path) as opened:
        yield opened


@pytest.fixture
def run(store: Store) -> Run:
    return store.begin_run(
        environment=samples.environment(), command=("fxrace", "sweep"), settings={"jobs": 2}
    )


@pytest.fixture
def append(store: Store, run: Run) -> Append:
    def _append(
        seed: int = 0,
        verdict: Verdict = Verdict.RAISED,
        stop: Stop = Stop.SILENT,
        into: Run = run,
        payload: dict[str, object] | None = None,
    ) -> StoredTrial:
        return store.append(
            into,
            trial=samples.trial(seed),
            outcome=samples.outcome(verdict),
            ending=samples.ending(stop),
            findings=(samples.finding("one"), samples.finding("two")),
            payload=payload or {},
            directory=Path("/out/trials/x"),
        )

    return _append
