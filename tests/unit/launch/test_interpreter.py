"""Interpreters that cannot run trials, each with one clear sentence; and ones described."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from fxrace.errors import InterpreterUnusable
from fxrace.launch.executors.local import LocalExecutor
from fxrace.launch.progress import Mode
from fxrace.records.environment import Environment


def described(python: Path | str, out: Path, mode: Mode, *roots: Path) -> Environment:
    with LocalExecutor(python=python, directory=out, jobs=1, roots=roots, mode=mode) as executor:
        return executor.describe()


def shim(folder: Path, text: str) -> Path:
    path = folder / "python"
    path.write_text(text)
    path.chmod(0o755)
    return path


def torch_like(folder: Path, text: str) -> Path:
    """A root whose ``torch`` is this text."""
    (folder / "root").mkdir()
    (folder / "root" / "torch.py").write_text(text)
    return folder / "root"


def refusal(python: Path | str, out: Path, mode: Mode = Mode.FORK, *roots: Path) -> str:
    with pytest.raises(InterpreterUnusable) as caught:
        described(python, out, mode, *roots)
    assert caught.value.remedy
    return caught.value.message


def test_not_there(tmp_path: Path) -> None:
    assert str(tmp_path / "no") in refusal(tmp_path / "no", tmp_path)
    assert "'no-such-python'" in refusal("no-such-python", tmp_path)
    assert "folder" in refusal(tmp_path, tmp_path)


def test_not_executable(tmp_path: Path) -> None:
    (tmp_path / "python").touch(mode=0o644)
    assert "not executable" in refusal(tmp_path / "python", tmp_path)


@pytest.mark.parametrize("text", ["", "\x7fELFnonsense"])
def test_not_a_program(tmp_path: Path, text: str) -> None:
    refusal(shim(tmp_path, text), tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/bin/sh\nexit 0\n", "stopped before it was ready"),
        ("#!/bin/sh\necho hello\nexec sleep 20\n", "Python"),
        ("#!/bin/sh\necho '{\"is\": 3}'\nexec sleep 20\n", "Python"),
        ("#!/bin/sh\necho one >&2; echo two >&2; exit 3\n", "two"),
    ],
)
def test_not_python(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(shim(tmp_path, text), tmp_path)


@pytest.mark.parametrize("mode", Mode)
def test_without_torch(tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    bare = shim(tmp_path, f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    assert refusal(bare, tmp_path, mode).endswith("has no torch")


@pytest.mark.parametrize("mode", Mode)
def test_a_torch_that_cannot_be_imported(tmp_path: Path, mode: Mode) -> None:
    root = torch_like(tmp_path, "raise OSError('libcudart.so.12: cannot open')")
    assert "libcudart.so.12" in refusal(sys.executable, tmp_path, mode, root)


@pytest.mark.parametrize(("mode", "said"), [(Mode.FORK, "last words"), (Mode.SPAWN, "signal 6")])
def test_a_torch_that_crashes(tmp_path: Path, mode: Mode, said: str) -> None:
    root = torch_like(tmp_path, "import os; os.write(2, b'last words\\n'); os.abort()")
    assert said in refusal(sys.executable, tmp_path, mode, root)


def test_gpus_are_named_and_the_code_is_this_very_one(tmp_path: Path) -> None:
    root = torch_like(
        tmp_path,
        "import types\n"
        "__version__ = '9.9'\n"
        "version = types.SimpleNamespace(cuda='12.8')\n"
        "cuda = types.SimpleNamespace(device_count=lambda: 2,"
        " get_device_name=lambda i: f'NVIDIA H200 {i}')\n",
    )
    environment = described(sys.executable, tmp_path, Mode.SPAWN, root)
    assert environment.gpus == ("NVIDIA H200 0", "NVIDIA H200 1")
    assert (environment.torch, environment.executable) == ("9.9", sys.executable)
    assert environment.cpu_count == len(os.sched_getaffinity(0))
