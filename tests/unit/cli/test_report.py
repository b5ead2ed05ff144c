"""``fxrace report`` over a real database, with no trial process and no torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fxrace import cli
from fxrace.commands import _options
from fxrace.errors import ExitCode
from fxrace.records import wire
from fxrace.records.outcome import Ending, Outcome, Stop
from fxrace.records.trial import Trial
from fxrace.records.verdict import Verdict
from fxrace.render import formats, trace_formats
from fxrace.store import open_store
from tests.unit.cli import stores
from tests.unit.render import chrome_trace, documents
from tests.unit.render.test_perfetto import EVENTS


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """A database with two runs of one trial each: RAISED, then CLEAN."""
    with open_store(tmp_path / _options.DATABASE) as store:
        for verdict in (Verdict.RAISED, Verdict.CLEAN):
            run = store.begin_run(
                environment=documents.environment(), command=("fxrace", "sweep"),
                settings={"preset": "tiny"}, axes={"locking": (verdict.value.lower(),)},
            )  # fmt: skip
            store.append(
                run,
                trial=Trial(target="a:b", knobs={"locking": verdict.value.lower()}),
                outcome=Outcome(verdict=verdict, symptom="<b>\x1b[2J", duration_s=1.0),
                ending=Ending(stop=Stop.EXITED, code=0, duration_s=1.0, overhead_s=0.0),
                findings=(), payload={}, directory=None,
            )  # fmt: skip
            store.end_run(run)
    return tmp_path


def call(output: Path, *words: str) -> Result:
    return CliRunner().invoke(cli.main, ["report", "-o", str(output), *words])


def test_html_is_written_and_its_path_printed(output: Path) -> None:
    ran = call(output)
    assert ran.exit_code == ExitCode.PASS, ran.stderr
    path = Path(ran.stdout.strip())
    assert path.parent == output
    assert "&lt;b&gt;" in path.read_text()
    assert (output / "report.html").is_file()


@pytest.mark.parametrize("words", [["--json"], ["--format", "json"]])
def test_json_of_the_latest_run(output: Path, words: list[str]) -> None:
    document = json.loads(call(output, *words).stdout)
    assert list(document)[:2] == ["schema", "schema_version"]
    assert [trial["verdict"] for trial in document["trials"]] == ["CLEAN"]
    assert not list(output.glob("*.html"))


def test_an_earlier_run_by_number(output: Path) -> None:
    document = json.loads(call(output, "--run", "1", "--json").stdout)
    assert [trial["verdict"] for trial in document["trials"]] == ["RAISED"]
    missing = call(output, "--run", "9")
    assert (missing.exit_code, missing.stdout) == (ExitCode.USAGE, "")


def test_text_goes_to_stdout(output: Path) -> None:
    ran = call(output, "--format", "text")
    assert "RAISED" not in ran.stdout
    assert "The one configuration survived" in ran.stdout
    assert "\x1b" not in ran.stdout


@pytest.mark.parametrize("words", [["1"], ["--run", "1"], ["1", "--run", "1"]])
def test_a_run_by_its_number_alone(output: Path, words: list[str]) -> None:
    document = json.loads(call(output, "--json", *words).stdout)
    assert document["run"] == "1"


def test_latest_is_what_you_get_without(output: Path) -> None:
    assert call(output, "--json", "--latest").stdout == call(output, "--json").stdout


@pytest.mark.parametrize("name", sorted({*formats()} - {*trace_formats(), "html"}))
def test_every_format_of_both_kinds_of_run(output: Path, name: str) -> None:
    """Asked of a sweep and of an exploration; hostile text of a trial reaches no terminal."""
    explored(output)
    for run in ("1", "3"):
        ran = call(output, run, "--format", name)
        assert ran.exit_code == ExitCode.PASS, ran.stderr
        assert ran.stdout.strip()
        assert "\x1b" not in ran.stdout


def explored(output: Path) -> None:
    """A third run, of ``explore``, in which no pair has come to its end."""
    with open_store(output / _options.DATABASE) as store:
        store.begin_run(
            environment=documents.environment(), command=("fxrace", "explore"), settings={},
            axes={"pairs": ("symbolic_trace make_fx",)},
        )  # fmt: skip


def test_perfetto_draws_what_trials_recorded(tmp_path: Path) -> None:
    folder = tmp_path / "trials" / "one"
    folder.mkdir(parents=True)
    lines = [f"{wire.encode(event).decode()}\n" for event in EVENTS]
    (folder / "events.jsonl").write_text("".join(lines) + '{"at_s": 1.0, "thr')
    stores.add_run(tmp_path, {stores.PATCHER: 1}, record=folder)
    ran = call(tmp_path, "--format", "perfetto")
    assert ran.exit_code == ExitCode.PASS, ran.stderr
    chart = chrome_trace.read(ran.stdout)
    assert len(chart.processes) == 1
    assert [one for one in chart.slices if one["cat"] == "collision"]


@pytest.mark.parametrize("run", ["1", "3"])
def test_a_run_without_records_says_so(output: Path, run: str) -> None:
    explored(output)
    ran = call(output, run, "--format", "perfetto")
    assert (ran.exit_code, ran.stdout) == (ExitCode.USAGE, "")
    assert f"run {run} has no recorded traces" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_an_unknown_format_names_the_known(output: Path) -> None:
    ran = call(output, "--format", "pdf")
    assert ran.exit_code == ExitCode.USAGE
    assert "html" in ran.stderr
