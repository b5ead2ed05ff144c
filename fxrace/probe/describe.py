"""An interpreter describes itself: versions, interpreter lock, processors, GPUs.

The surprise: it does so in a process that is thrown away, because asking for the name of a GPU
initialises CUDA, and a process with CUDA initialised cannot fork working trials.
"""

from __future__ import annotations

import json
import os
import platform
import select
import signal
import sys
from typing import Any

from fxrace.probe.confine import die_with

ANSWER_S = 120.0


def describe() -> dict[str, Any]:
    """The fields of ``records.Environment`` that only this interpreter knows.

    ``problem`` is a sentence fragment when torch cannot be used ("has no torch"), else None.
    """
    plain: dict[str, Any] = {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu_count": _processors(),
        "gil": getattr(sys, "_is_gil_enabled", lambda: True)(),
        "executable": sys.executable,
        "torch": "",
        "gpus": [],
        "problem": None,
    }
    try:
        import torch
    except BaseException as error:
        plain["problem"] = import_problem(error)
        return plain
    plain["torch"] = str(torch.__version__)
    plain["gpus"] = _gpus(torch)
    plain["gil"] = getattr(sys, "_is_gil_enabled", lambda: True)()
    return plain


def describe_apart(timeout_s: float = ANSWER_S) -> dict[str, Any]:
    """``describe`` in a fork that is gone afterwards. Bounded: ``problem`` says when it failed."""
    reader, writer = os.pipe()
    parent, pid = os.getpid(), os.fork()
    if not pid:
        try:
            die_with(parent)
            os.write(writer, json.dumps(describe()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    answer = _read(reader, timeout_s)
    os.close(reader)
    if not answer:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if answer:
        return dict(json.loads(answer))
    died = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if died and died != signal.SIGKILL:
        return {"problem": f"was ended by signal {died} while importing torch"}
    return {"problem": f"did not describe itself within {timeout_s:.0f} s"}


def import_problem(error: BaseException) -> str:
    """Why ``import torch`` failed, to be read after the interpreter's path."""
    if isinstance(error, ModuleNotFoundError) and error.name == "torch":
        return "has no torch"
    return f"cannot import torch ({type(error).__name__}: {error})"


def _read(reader: int, timeout_s: float) -> bytes:
    """Everything until the other end closes; empty when nothing came in time."""
    parts: list[bytes] = []
    while select.select([reader], [], [], timeout_s)[0]:
        part = os.read(reader, 65536)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return b""


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _gpus(torch: Any) -> list[str]:
    """Names in device order; none when this torch has no CUDA or the driver does not answer."""
    if not (torch.version.cuda or getattr(torch.version, "hip", None)):
        return []
    try:
        return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    except Exception:
        return []
