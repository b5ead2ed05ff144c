"""Starts an interpreter that examines itself, and tries to read its stacks from outside.

The child is in a session of its own and is killed with everything it started, whatever happens.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from fxrace.errors import InterpreterUnusable
from fxrace.launch import interpreter, py_spy

LIMIT_S, DISCOVERY_LIMIT_S = 120.0, 400.0
DISCOVER = "discover"


def examination(python: Path | str, *, discover: bool) -> dict[str, Any]:
    """What ``fxrace.probe.examine`` answers, with the ability ``py_spy`` added.

    Raises InterpreterUnusable where there is no interpreter, it has no torch, or it says nothing
    within its limit.
    """
    path = interpreter.resolve(python)
    words = (DISCOVER,) if discover else ()
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            interpreter.command(path, "fxrace.probe.examine", *words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=interpreter.variables((), forks=False),
            start_new_session=True,
        )
        try:
            line = _line(child, DISCOVERY_LIMIT_S if discover else LIMIT_S)
            answer = _answer(line, path, errors)
            answer.setdefault("abilities", {})["py_spy"] = _readable(child.pid)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    if problem := answer["environment"]["problem"]:
        raise InterpreterUnusable(f"{path} {problem}", remedy="give --python one that has torch")
    return answer


def _line(child: subprocess.Popen[bytes], limit_s: float) -> bytes:
    """The child's one line; empty when it ended, or did not say it in time."""
    assert child.stdout is not None
    until, text = time.monotonic() + limit_s, b""
    while not text.endswith(b"\n"):
        left = max(0.0, until - time.monotonic())
        if not select.select([child.stdout], [], [], left)[0]:
            return b""
        part = os.read(child.stdout.fileno(), 65536)
        if not part:
            return b""
        text += part
    return text


def _answer(line: bytes, path: Path, errors: Any) -> dict[str, Any]:
    if line:
        return dict(json.loads(line))
    errors.seek(0)
    said = [text for text in errors.read().decode(errors="replace").splitlines() if text.strip()]
    raise InterpreterUnusable(
        f"{path} did not say what it can do ({said[-1][:200] if said else 'no reason given'})",
        remedy="check --python",
    )


def _readable(pid: int) -> dict[str, Any]:
    try:
        threads = py_spy.parse(py_spy.dump(pid))
    except py_spy.Refused as refusal:
        return {"ok": False, "reason": f"{refusal}; stacks are faulthandler's"}
    return {"ok": bool(threads), "reason": "" if threads else "py-spy saw no thread"}
