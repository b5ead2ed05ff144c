"""Runs one script of the catalogue to its end, under any interpreter, and reports how it ended.

The script runs in a session of its own, so that whatever it started ends with it. Output goes to
files and not to pipes: a grandchild that keeps a pipe open would keep the reader waiting.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from fxrace.errors import InterpreterUnusable
from fxrace.records.repro import ScriptEnd

LOOK_S = 0.1
TAIL_BYTES = 8192
ASK_S = 120.0
_ASK = "from importlib.metadata import version; print(version('torch'))"


def run_script(
    python: Path, script: Path, *arguments: str, timeout_s: float, give_up: Callable[[], bool]
) -> ScriptEnd:
    """Run it. A run that reached ``timeout_s``, or that was given up, has no status.

    Raises InterpreterUnusable where the interpreter cannot be started.
    """
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fxrace-script-") as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        with out.open("wb") as to_out, err.open("wb") as to_err:
            process = _started([str(python), str(script), *arguments], to_out, to_err)
        try:
            status = _waited(process, began + timeout_s, give_up)
        finally:
            _end(process)
        return ScriptEnd(
            status=status,
            line=last_line(out),
            error=last_line(err),
            duration_s=time.monotonic() - began,
        )


def torch_version(python: Path) -> str:
    """The version of torch that this interpreter has, torch not imported.

    Raises InterpreterUnusable.
    """
    try:
        asked = subprocess.run(
            [str(python), "-c", _ASK], capture_output=True, text=True, timeout=ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InterpreterUnusable(
            f"{python} cannot be asked for its torch ({error})", remedy="check --python"
        ) from error
    if asked.returncode:
        raise InterpreterUnusable(f"{python} has no torch", remedy="install torch there")
    return asked.stdout.strip()


def _started(command: list[str], out: IO[bytes], err: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=_variables(),
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise InterpreterUnusable(
            f"{command[0]} cannot be started: {error.strerror}", remedy="check --python"
        ) from error


def _variables() -> dict[str, str]:
    """Caches on disk hide compiles, and more threads than processors only make scripts slow."""
    ours = {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "PYTHONUNBUFFERED": "1"}
    return {"OMP_NUM_THREADS": "1", **os.environ, **ours}


def _waited(
    process: subprocess.Popen[bytes], until: float, give_up: Callable[[], bool]
) -> int | None:
    while time.monotonic() < until and not give_up():
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=LOOK_S)
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the session; it may outlive its leader."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def last_line(file: Path) -> str:
    """The last line of it that is not blank; nothing where there is none."""
    try:
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - TAIL_BYTES))
            lines = opened.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
