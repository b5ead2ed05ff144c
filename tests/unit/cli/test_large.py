"""Ten thousand trials: every reading verb stays within seconds of processor time."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from fxrace import cli
from fxrace.commands import _options
from fxrace.errors import ExitCode
from fxrace.records import wire
from fxrace.records.outcome import Ending, Outcome, Stop
from fxrace.records.trial import Trial
from fxrace.records.verdict import Verdict
from fxrace.store import open_store
from tests.unit.cli.stores import finding
from tests.unit.render import documents

TRIALS, CAUSES, CELLS, MOST_S = 10_000, 40, 100, 15.0


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run, written in one transaction: what is timed is reading. A third of it failed."""
    folder = tmp_path_factory.mktemp("large")
    axes = {"locking": tuple(f"lock{n}" for n in range(CELLS))}
    ending = wire.encode(Ending(stop=Stop.EXITED, code=0, duration_s=1.0, overhead_s=0.0)).decode()
    causes = [finding(f"{n:012x}") for n in range(CAUSES)]
    with open_store(folder / _options.DATABASE) as store:
        run = store.begin_run(
            environment=documents.environment(), command=("fxrace",), settings={}, axes=axes
        )
        connection = store._connection
        connection.execute("BEGIN")
        for n in range(TRIALS):
            failed = n % 3 == 0
            verdict = Verdict.RAISED if failed else Verdict.CLEAN
            trial = Trial(target="a:b", knobs={"locking": axes["locking"][n % CELLS]}, repeat=n)
            said = Outcome(verdict=verdict, symptom=f"error at {n:#x}" * failed, duration_s=1.0)
            number = connection.execute(
                "INSERT INTO trials (digest, environment, verdict, stop, trial, outcome, ending,"
                " payload, directory, stored) VALUES (?, ?, ?, ?, ?, ?, ?, '{}', NULL, '')",
                (trial.digest, run.environment.digest, verdict.value, "exited",
                 wire.encode(trial).decode(), wire.encode(said).decode(), ending),
            ).lastrowid  # fmt: skip
            connection.execute("INSERT INTO run_trials VALUES (?, ?, 0)", (run.number, number))
            if failed:
                one = causes[n % CAUSES]
                row = (number, 0, one.fingerprint, wire.encode(one).decode())
                connection.execute("INSERT INTO findings VALUES (?, ?, ?, ?)", row)
        connection.execute("COMMIT")
        store.end_run(run)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [["report", "--json"], ["report", "--format", "sarif"], ["history", "--json"]],
    ids=lambda words: " ".join(words),
)
def test_it_is_read_in_seconds(large: Path, words: list[str]) -> None:
    """Processor time, since other tests run beside; five times what it takes."""
    began = time.process_time()
    ran = CliRunner().invoke(cli.main, [words[0], "-o", str(large), *words[1:]])
    assert ran.exit_code == ExitCode.PASS, ran.stderr
    assert time.process_time() - began < MOST_S
    if "--json" in words:
        plain = json.loads(ran.stdout)
        rows = plain.get("findings", plain.get("lives"))
        assert len(rows) == CAUSES
    assert ran.stdout
