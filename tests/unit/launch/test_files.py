"""The trial's folder, the hash over sources, and where the bundled code lies."""

from __future__ import annotations

from pathlib import Path

import pytest

import fxrace
from fxrace.errors import LaunchFailed, OutputUnwritable
from fxrace.launch import bundled
from fxrace.launch.folder import TAIL_BYTES, prepare
from fxrace.launch.sources import sources
from tests.unit.launch.conftest import make_trial


def test_a_folder_under_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputUnwritable):
        prepare(tmp_path / "file", make_trial("nothing"))


def test_the_tail_of_stderr(tmp_path: Path) -> None:
    folder = prepare(tmp_path, make_trial("nothing"))
    assert folder.stderr_tail() == ""
    folder.stderr.write_bytes(b"x" * 10_000 + b"\xffend")
    tail = folder.stderr_tail()
    assert tail.endswith("\ufffdend")
    assert len(tail) == TAIL_BYTES


def test_sources_follow_contents_not_places(tmp_path: Path) -> None:
    digests = []
    for name, text in (("a", "x = 1"), ("b", "x = 1"), ("c", "x = 2")):
        part = tmp_path / name / "harness" / "locking" / "none.py"
        part.parent.mkdir(parents=True)
        part.write_text(text)
        (part.parent / "notes.txt").write_text(name)
        digests.append(sources([tmp_path / name]))
    assert digests[0] == digests[1] != digests[2]
    assert sources([]) not in digests


def test_the_checkout_is_found() -> None:
    assert (bundled.root() / "harness" / "contracts.py").is_file()


def test_a_wheel_is_preferred_and_a_missing_harness_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "fxrace"
    monkeypatch.setattr(fxrace, "__file__", str(package / "__init__.py"))
    with pytest.raises(LaunchFailed):
        bundled.root()
    (tmp_path / "harness").mkdir()
    assert bundled.root() == tmp_path
    (package / "_bundled" / "harness").mkdir(parents=True)
    assert bundled.root() == package / "_bundled"
