"""Runs one piece of an exploration in a fork of this process, and hears what it says.

Poison is permanent, so every run of A has a process of its own; a fork of a prepared one costs
tens of milliseconds. The forking process must have one thread. What the fork says is JSON, one
line a message, so that nothing of its torch reaches us; it is killed as soon as it has said
``bye``, because nothing of a poisoned process may run at its exit.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import random
import select
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any, NoReturn

from fxrace.probe.confine import die_with

Say = Callable[[dict[str, Any]], None]
#: The interpreter's own watchdog needs no interpreter lock; it goes off a little before ours.
_AHEAD_S = 2.0


class End(str, Enum):
    """How a fork ended."""

    SAID_ALL = "said all"
    CRASHED = "crashed"
    """Died of a signal or left without a word."""
    SILENT = "silent"
    """Neither ended nor gave up within its limit: it was killed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Heard:
    """Everything one fork said. ``words`` are its last stacks where it did not end by itself."""

    end: End
    messages: tuple[dict[str, Any], ...]
    signal: int = 0
    words: str = ""

    def last(self, kind: str) -> dict[str, Any] | None:
        return next((m for m in reversed(self.messages) if m["is"] == kind), None)

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [m for m in self.messages if m["is"] == kind]


def forked(body: Callable[[Say], None], *, limit_s: float, watchdog: bool = True) -> Heard:
    """Run ``body`` in a fork and return what it said. Never raises for what the fork does.

    The interpreter's watchdog is a thread: a fork that will fork again goes without.
    """
    reading, writing = os.pipe()
    drawn = random.getstate()
    with tempfile.TemporaryFile() as words:
        parent = os.getpid()
        pid = os.fork()
        if not pid:
            os.close(reading)
            random.setstate(drawn)  # Python seeds it anew in every fork
            _become(body, writing, words.fileno(), parent, limit_s if watchdog else 0.0)
        os.close(writing)
        try:
            lines, ended = _hear(reading, time.monotonic() + limit_s)
        except BaseException:  # Ctrl-C, or a test's own time limit
            _put_away(pid)
            raise
        finally:
            os.close(reading)
        status = _put_away(pid)
        words.seek(0)
        text = words.read().decode(errors="replace")
    messages = tuple(json.loads(line) for line in lines)
    if messages and messages[-1]["is"] == "bye":
        return Heard(end=End.SAID_ALL, messages=messages[:-1])
    # The watchdog of the fork itself leaves with status 1 after it has written the stacks.
    silent = not ended or (os.WIFEXITED(status) and "Timeout (" in text)
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) and ended else 0
    end = End.SILENT if silent else End.CRASHED
    return Heard(end=end, messages=messages, signal=number, words=text[-6000:])


def _become(
    body: Callable[[Say], None], writing: int, words: int, parent: int, limit_s: float
) -> NoReturn:
    """In the fork: an own group, a watchdog that needs no lock, and no way back."""

    def say(message: dict[str, Any]) -> None:
        line = json.dumps(message, default=repr).encode() + b"\n"
        while line:
            line = line[os.write(writing, line) :]

    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        die_with(parent)
        gc.disable()  # a collection would run destructors, and tracing, at points of its own
        faulthandler.enable(file=words)
        if limit_s:
            faulthandler.dump_traceback_later(max(limit_s - _AHEAD_S, 1.0), file=words, exit=True)
        body(say)
    except BaseException as error:
        say({"is": "broken", "reason": f"{type(error).__name__}: {error}"})
    finally:
        with suppress(OSError):
            say({"is": "bye"})
        os._exit(0)


def _hear(reading: int, until: float) -> tuple[list[bytes], bool]:
    """Lines up to ``bye`` or the end of the pipe; False where the time was up before."""
    heard = b""
    while (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select([reading], [], [], left)
        if not ready:
            break
        chunk = os.read(reading, 1 << 16)
        heard += chunk
        if not chunk or heard.endswith(b'{"is": "bye"}\n'):
            return heard.split(b"\n")[:-1], True
    return heard.split(b"\n")[:-1], False


def _put_away(pid: int) -> int:
    """Kill the fork and what it started; returns the wait status of the fork itself."""
    time.sleep(0)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]
