"""The command line as a shell sees it: exit codes, one sentence per failure, no heavy imports."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import fxrace
from fxrace import cli
from fxrace.commands import _ending, _plan, _reports
from fxrace.commands import schema as schema_command
from fxrace.errors import ExitCode, UnknownPart, UsageError
from fxrace.launch import bundled
from fxrace.records import wire
from fxrace.records.sweep import Axis, PartFile
from fxrace.records.verdict import Verdict
from tests.unit.render import documents

ROOT = Path(fxrace.__file__).parents[1]


def call(*words: str) -> Result:
    return CliRunner().invoke(cli.main, list(words))


def fresh(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )


def test_help_lists_every_verb_and_imports_none() -> None:
    code = (
        "import sys\nfrom fxrace.cli import main\n"
        "main(['--help'], prog_name='fxrace', standalone_mode=False)\n"
        "print(len(sys.modules), *sys.modules, file=sys.stderr)"
    )
    ran = fresh(code)
    assert ran.returncode == 0, ran.stderr
    for path in (ROOT / "fxrace" / "commands").glob("[!_]*.py"):
        assert f" {path.stem} " in ran.stdout
    number, *modules = ran.stderr.split()
    heavy = {"torch", "numpy", "sqlite3", "jinja2", "msgspec", "psutil", "harness"}
    assert not heavy & {name.split(".")[0] for name in modules}
    assert not [
        name for name in modules if name.startswith("fxrace.commands.") and "._" not in name
    ]
    assert int(number) < 600


@pytest.mark.parametrize("verb", ["report", "schema"])
def test_reading_verbs_need_no_torch(verb: str) -> None:
    ran = fresh(f"import sys, fxrace.commands.{verb}; print('torch' in sys.modules)")
    assert ran.stdout.strip() == "False", ran.stderr


def test_version() -> None:
    assert fxrace.__version__ in call("--version").output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["bogus"], "No such command"),
        (["sweep", "--bogus"], "No such option"),
        (["sweep", "--device", "tpu"], "tpu"),
        (["sweep", "--repeat", "0"], "--repeat"),
        (["sweep", "--gpus", "0"], "--gpus 0"),
        (["sweep", "--gpus", "4", "--split", "5:3"], "8 slots but --gpus is 4"),
        (["sweep", "--split", "x"], "malformed"),
        (["sweep", "--axis", "lokcing=none"], "unknown axis 'lokcing'"),
        (["sweep", "--axis", "locking=nope"], "unknown locking value 'nope'; known: every_call"),
        (["sweep", "--axis", "locking"], "NAME=VALUE"),
        (["sweep", "--axis", "locking="], "unknown locking value ''"),
        (["sweep", "--preset", "huge"], "unknown preset 'huge'"),
        (["sweep", "--fail-on", "sometimes"], "--fail-on"),
        (["sweep", "--silence", "0"], "--silence"),
        (["schema", "nope"], "unknown schema"),
        (["replay", "123456", "-o", "/nonexistent"], ""),
    ],
)
def test_bad_input_is_one_sentence_and_two(words: list[str], told: str) -> None:
    ran = call(*words)
    assert ran.exit_code == ExitCode.USAGE
    assert told in ran.stderr
    assert ran.stderr.startswith("fxrace: ")
    assert len(ran.stderr.strip().splitlines()) == 1
    assert ran.stdout == ""


def test_nothing_to_report_is_a_usage_error(tmp_path: Path) -> None:
    ran = call("report", "-o", str(tmp_path))
    assert (ran.exit_code, "run fxrace sweep first" in ran.stderr) == (ExitCode.USAGE, True)


def test_a_defect_is_four_with_its_traceback_saved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(schema_command, "UnknownPart", broken)
    ran = call("schema", "nope")
    assert ran.exit_code == ExitCode.INTERNAL
    assert len(ran.stderr.strip().splitlines()) == 1
    (saved,) = tmp_path.iterdir()
    assert str(saved) in ran.stderr
    assert "ZeroDivisionError: planted" in saved.read_text()


@pytest.mark.parametrize("error", [KeyboardInterrupt, cli.click.Abort])
def test_an_interruption_is_130(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def stopped(*_: object) -> None:
        raise error

    monkeypatch.setattr(schema_command, "UnknownPart", stopped)
    assert call("schema", "nope").exit_code == ExitCode.INTERRUPTED


def test_a_closed_pipe_is_silent() -> None:
    code = f"{sys.executable} -m fxrace schema sweep | head -c 1; echo ${{PIPESTATUS[0]}}"
    for _ in range(3):
        ran = subprocess.run(
            ["bash", "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        assert ran.stderr == ""
        assert ran.stdout.splitlines()[-1].lstrip("{") in {"0", str(cli.NO_READER)}


def test_schema_prints_what_is_published() -> None:
    assert call("schema").output.split() == sorted(wire.DOCUMENTS)
    published = ROOT / "fxrace" / "schemas" / "sweep.json"
    assert call("schema", "sweep").output == published.read_text()


def test_dry_run_prints_the_plan_and_touches_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = call("sweep", "--dry-run", "--repeat", "2", "--axis", "locking=none,whole_step",
               "--axis", "pressure=none", "-o", str(out))  # fmt: skip
    assert ran.exit_code == ExitCode.PASS
    assert "locking      none, whole_step" in ran.output
    assert "x 2 repeats" in ran.output
    assert not out.exists()


@pytest.mark.parametrize("name", [axis.name for axis in _plan.known_axes()])
def test_every_axis_may_be_swept_whole(name: str) -> None:
    one = {axis.name: axis.names[0] for axis in _plan.known_axes() if axis.name != name}
    picks = [word for axis, value in one.items() for word in ("--axis", f"{axis}={value}")]
    ran = call("sweep", "--dry-run", "--axis", f"{name}=all", *picks)
    assert ran.exit_code == ExitCode.PASS
    (all_of_it,) = (axis.names for axis in _plan.known_axes() if axis.name == name)
    assert len(all_of_it) > 1
    line = next(line for line in ran.output.splitlines() if line.split()[0] == name)
    assert line.split(maxsplit=1)[1] == ", ".join(all_of_it)
    assert f"{len(all_of_it)} cells x 1 repeat" in ran.output


def test_sweep_help_shows_the_axes_with_defaults_marked() -> None:
    shown = call("sweep", "--help").output
    for axis in _plan.known_axes():
        assert f"{axis.name}: {axis.summary}" in shown
        for part in axis.parts:
            star = "*" if part.name in axis.defaults else " "
            assert f"  {star} {part.name} " in shown


def axis(*names: str, default: str = "") -> Axis:
    parts = tuple(PartFile(name=n, summary=n, path=Path(n), default=n == default) for n in names)
    return Axis(name="locking", summary="", parts=parts)


def test_axes_are_chosen_by_default_by_name_or_all() -> None:
    axes = [axis("a", "b", "c", default="b")]
    assert _plan.chosen(axes, []) == {"locking": ("b",)}
    assert _plan.chosen(axes, ["locking=c,a,c"]) == {"locking": ("c", "a")}
    assert _plan.chosen(axes, ["locking=all"]) == {"locking": ("a", "b", "c")}
    with pytest.raises(UnknownPart):
        _plan.chosen(axes, ["locking=d"])


def test_an_edited_part_is_another_setting(tmp_path: Path) -> None:
    part = tmp_path / "locking" / "mine.py"
    part.parent.mkdir()
    part.write_text("a = 1")
    first = _plan.parts_setting([tmp_path])
    assert first["parts"] == str(tmp_path)
    assert _plan.parts_setting([tmp_path]) == first
    part.write_text("a = 2")
    assert _plan.parts_setting([tmp_path]) != first
    assert _plan.parts_setting([]) == {"parts": ""}


def test_the_silence_limit_never_exceeds_the_busy_limit() -> None:
    assert _plan.limits(None, 1000.0).busy_s >= 1000.0
    assert _plan.limits(5.0, None).trial_s == 5.0


@pytest.mark.parametrize(
    ("verdicts", "wanted", "code"),
    [
        ([Verdict.CLEAN], "none", ExitCode.PASS),
        ([Verdict.RAISED], "none", ExitCode.PASS),
        ([Verdict.RAISED], "findings", ExitCode.FINDINGS),
        ([Verdict.CLEAN], "findings", ExitCode.PASS),
        ([Verdict.HUNG, Verdict.CLEAN], "hung,CRASHED", ExitCode.FINDINGS),
        ([Verdict.WRONG, Verdict.CLEAN], "hung,CRASHED", ExitCode.PASS),
        ([Verdict.BLIND, Verdict.BROKEN], "none", ExitCode.INCONCLUSIVE),
        ([Verdict.BROKEN], "BROKEN", ExitCode.FINDINGS),
        ([], "none", ExitCode.INCONCLUSIVE),
    ],
)
def test_exit_codes_of_a_sweep(verdicts: list[Verdict], wanted: str, code: ExitCode) -> None:
    rows = [documents.trial({"locking": "none"}, n, v) for n, v in enumerate(verdicts)]
    document = documents.document(rows, axes={"locking": ("none",)})
    assert _ending.exit_code(document, _ending.fail_on(wanted)) is code


def test_an_interrupted_sweep_exits_130() -> None:
    rows = [documents.trial({"locking": "none"}, 1, Verdict.RAISED)]
    document = documents.document(rows, interrupted=True)
    assert _ending.exit_code(document, _ending.fail_on("findings")) is ExitCode.INTERRUPTED


def test_the_report_lies_where_it_says_and_as_latest(tmp_path: Path) -> None:
    document = _reports.write_report(documents.sweep(repeats=1), tmp_path)
    assert document.report == str(tmp_path / "report-2026-11-29-213059-ab12.html")
    assert Path(document.report).read_text() == (tmp_path / "report.html").read_text()
    assert len(list(tmp_path.iterdir())) == 2


def test_an_unwritable_report_keeps_the_results(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="fxrace report"):
        _reports.write_report(documents.document([]), tmp_path / "file")


def test_the_bundled_parts_are_found() -> None:
    assert (bundled.root() / "harness").is_dir()
