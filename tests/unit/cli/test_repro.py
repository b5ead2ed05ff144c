"""``fxrace repro`` and ``fxrace bisect`` over a small catalogue whose scripts need no torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from fxrace import cli
from fxrace.commands import _catalogue
from fxrace.errors import ExitCode
from fxrace.launch import bundled, script
from fxrace.records import wire
from fxrace.records.repro import BisectDocument, ReproDocument, Torch

ROOT = Path(__file__).parents[3]
HEADER: dict[str, Any] = {
    "title": "what goes wrong", "layer": "fx", "states": (), "regions": (), "patterns": (),
    "racy": "RAISED", "remedy": "what helps", "since": "2.6", "evidence": {},
}  # fmt: skip
SHOWS = "sys.exit((print('CLEAN fine') or 0) if guarded else (print('RAISED \\x1b[31mno') or 66))"
FINE = "print('CLEAN fine')"
#: Shows under every interpreter whose path holds the word "bad".
BY_PATH = "sys.exit((print('RAISED no') or 66) if 'bad' in sys.executable else print('CLEAN fine'))"
STEM = "import sys\nguarded = '--guarded' in sys.argv\n"


def write(root: Path, slug: str, body: str, **more: Any) -> None:
    (root / "repros").mkdir(exist_ok=True)
    text = f'"""{slug}."""\n{STEM}HAZARD = {HEADER | more!r}\n{body}\n'
    (root / "repros" / f"{slug}.py").write_text(text)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path, "fx-shows", SHOWS)
    write(tmp_path, "fx-fixed", FINE, fixed_in="2.7")
    write(tmp_path, "fx-gone", FINE)
    write(tmp_path, "no-remedy", "print('RAISED no'); sys.exit(66)")
    write(tmp_path, "no-gpu", "print('SKIPPED no GPU'); sys.exit(77)", device="cuda")
    write(tmp_path, "own-error", "raise ValueError('own')")
    write(tmp_path, "by-path", BY_PATH, since="2.7", fixed_in="2.9")
    (tmp_path / "repros" / "broken.py").write_text("HAZARD = 1")
    monkeypatch.setattr(bundled, "root", lambda: tmp_path)
    monkeypatch.setattr(script, "torch_version", lambda python: "2.13.0+cpu")
    return tmp_path


def call(*words: str) -> Result:
    return CliRunner().invoke(cli.main, [str(word) for word in words])


def results(*words: str) -> dict[str, str]:
    document = json.loads(call("repro", "--json", *words).stdout)
    jsonschema.Draft202012Validator(wire.schema(ReproDocument)).validate(document)
    assert list(document)[:2] == ["schema", "schema_version"]
    return {row["slug"]: row["judgement"] for row in document["results"]}


def test_each_script_is_judged(root: Path) -> None:
    assert results("--repeat", "2") == {
        "by-path": "not_applicable",
        "fx-fixed": "not_applicable",
        "fx-gone": "not_reproduced",
        "fx-shows": "reproduced",
        "no-gpu": "not_applicable",
        "no-remedy": "broken",
        "own-error": "broken",
    }


@pytest.mark.parametrize(
    ("slugs", "code"),
    [
        (("fx-shows",), ExitCode.PASS),
        (("fx-shows", "no-gpu"), ExitCode.PASS),
        (("fx-fixed",), ExitCode.PASS),
        (("fx-*",), ExitCode.FINDINGS),
        (("no-gpu",), ExitCode.INCONCLUSIVE),
        (("fx-shows", "own-error"), ExitCode.INCONCLUSIVE),
    ],
)
def test_exit_codes(root: Path, slugs: tuple[str, ...], code: ExitCode) -> None:
    ran = call("repro", *slugs)
    assert ran.exit_code == code, ran.output
    assert "\x1b" not in ran.output


def test_one_twin_alone(root: Path) -> None:
    document = json.loads(call("repro", "fx-shows", "--twin", "racy", "--json").stdout)
    (row,) = document["results"]
    assert (row["racy"]["verdict"], row["racy"]["k"], row["racy"]["n"]) == ("RAISED", 1, 1)
    assert (row["guarded"]["verdict"], row["guarded"]["n"]) == (None, 0)


def test_an_unknown_slug_is_a_usage_error_with_what_is_near(root: Path) -> None:
    ran = call("repro", "fx-show")
    assert ran.exit_code == ExitCode.USAGE
    assert "fx-shows" in ran.stderr
    ran = call("repro", "broken")
    assert ran.exit_code == ExitCode.USAGE
    assert "broken" in ran.stderr


def test_the_list_runs_nothing(root: Path) -> None:
    ran = call("repro", "--list")
    assert ran.exit_code == ExitCode.PASS
    assert "own-error" in ran.stdout
    listed = json.loads(call("repro", "--list", "--json", "no-*").stdout)
    assert [hazard["slug"] for hazard in listed["hazards"]] == ["no-gpu", "no-remedy"]
    assert listed["results"] == []
    assert set(listed["problems"]) == {"broken"}


def test_a_script_is_printed_as_it_is(root: Path) -> None:
    ran = call("repro", "fx-shows", "--print")
    assert ran.stdout == (root / "repros" / "fx-shows.py").read_text()
    assert call("repro", "fx-*", "--print").exit_code == ExitCode.USAGE


def interpreters(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    """Links to this interpreter, each with a torch of its own: ``2.7-bad`` is torch 2.7.0."""
    paths = []
    for name in names:
        (folder / name).mkdir()
        (folder / name / "python").symlink_to(sys.executable)
        paths.append(folder / name / "python")
    monkeypatch.setattr(
        script, "torch_version", lambda python: python.parent.name.partition("-")[0] + ".0"
    )
    return [word for path in paths for word in ("--python", str(path))]


def test_several_torches_make_a_matrix(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pythons = interpreters(tmp_path, monkeypatch, "2.6-good", "2.8-bad", "2.9-good")
    out = tmp_path / "out"
    ran = call("repro", "by-path", "fx-shows", "--twin", "racy", "-o", out, *pythons)
    assert ran.exit_code == ExitCode.PASS, ran.output
    document = wire.decode(ReproDocument, (out / "repro.json").read_text())
    assert len(document.results) == 6
    (line,) = [x for x in (out / "repro.md").read_text().splitlines() if "by-path" in x]
    assert line == "| by-path | fx | not here yet | RAISED 1 of 1 | fixed here |"


def test_bisect_finds_both_ends(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("2.9-good", "2.6-good", "2.8-bad", "2.7-bad")
    pythons = interpreters(tmp_path, monkeypatch, *names)
    ran = call("bisect", "by-path", "--json", *pythons)
    assert ran.exit_code == ExitCode.PASS, ran.output
    plain = json.loads(ran.stdout)
    jsonschema.Draft202012Validator(wire.schema(BisectDocument)).validate(plain)
    document = wire.decode(BisectDocument, ran.stdout)
    assert document.since is not None and document.fixed_in is not None
    assert (document.since.at, document.fixed_in.at) == ("2.7.0", "2.9.0")
    assert document.agrees is True
    assert min(document.since.confidence, document.fixed_in.confidence) >= 0.95
    assert [row.torch for row in document.versions] == ["2.6.0", "2.7.0", "2.8.0", "2.9.0"]


def test_bisect_without_a_sighting_is_inconclusive(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pythons = interpreters(tmp_path, monkeypatch, "2.6-good", "2.9-good")
    assert call("bisect", "by-path", *pythons).exit_code == ExitCode.INCONCLUSIVE
    assert call("bisect", "by-path", *pythons[:2]).exit_code == ExitCode.USAGE
    assert call("bisect", "fx-*", *pythons).exit_code == ExitCode.USAGE


def test_torches_are_asked_once_each(root: Path) -> None:
    (torch,) = _catalogue.torches([sys.executable, sys.executable])
    assert torch == Torch(python=Path(sys.executable), version="2.13.0+cpu")


def test_a_twin_that_cannot_run_here_is_not_repeated(root: Path) -> None:
    document = json.loads(call("repro", "--json", "no-gpu", "fx-shows", "--repeat", "3").stdout)
    runs = {row["slug"]: (row["racy"]["n"], row["guarded"]["n"]) for row in document["results"]}
    assert runs == {"no-gpu": (1, 1), "fx-shows": (3, 3)}


LISTING = """
import sys
from fxrace.cli import main
try:
    main(["repro", "--list"], prog_name="fxrace")
except SystemExit as leaving:
    assert not leaving.code, leaving.code
heavy = {"torch", "subprocess", "rich", "rich_click", "tempfile", "fxrace.reproduction"}
heavy |= {"fxrace.records.finding", "fxrace.records.document"}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


def test_the_list_imports_nothing_that_takes_time() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LISTING], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert "fx-flag-crash" in done.stdout
    assert done.stderr.strip() == "[]"
