"""Runs scripts of the catalogue in forks of a process that has imported torch once.

``ScriptForks.run`` is ``launch.script.run_script`` for many runs: an interpreter with torch takes
2-3 s to start, a fork 30 ms. Any thread may call it; one thread listens to the zygote and wakes
whoever waits for the run that ended.
"""

from __future__ import annotations

import itertools
import queue
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from fxrace.errors import LaunchFailed
from fxrace.launch import interpreter
from fxrace.launch.link import Link
from fxrace.launch.script import LOOK_S, last_line
from fxrace.probe.confine import STDERR, STDOUT
from fxrace.probe.zygote import FORK
from fxrace.records.repro import ScriptEnd

_LISTEN_S = 0.5
#: How long a killed run may take to be gone.
_GONE_S = 10.0


class ScriptForks:
    """``with ScriptForks(python) as forks``. Raises InterpreterUnusable."""

    def __init__(self, python: Path) -> None:
        self._python = python
        self._tickets = map(str, itertools.count())
        self._replies: dict[str, queue.SimpleQueue[dict[str, Any]]] = {}
        self._sending, self._closing = threading.Lock(), threading.Event()

    def __enter__(self) -> ScriptForks:
        self._folder = tempfile.TemporaryDirectory(prefix="fxrace-scripts-")
        variables = interpreter.variables((), forks=True)
        command = interpreter.command(self._python, "fxrace.probe.zygote", FORK)
        self._link = Link(command, variables, Path(self._folder.name) / "zygote.txt")
        try:
            #: A fork would lose all but one of them.
            self.usable = self._link.hello()["threads"] == 1
        except BaseException:
            self._end()
            raise
        self._listener = threading.Thread(target=self._listen, name="script forks", daemon=True)
        self._listener.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._listener.join()
        self._end()

    def run(
        self, script: Path, *arguments: str, timeout_s: float, give_up: Callable[[], bool]
    ) -> ScriptEnd:
        """As ``run_script``. Raises LaunchFailed when the zygote is gone."""
        began, ticket = time.monotonic(), next(self._tickets)
        replies = self._replies[ticket] = queue.SimpleQueue()
        with tempfile.TemporaryDirectory(dir=self._folder.name) as name:
            folder = Path(name)
            what = {"path": str(script), "arguments": arguments}
            self._send(do="start", trial=ticket, directory=name, variables={}, script=what)
            try:
                status = self._waited(ticket, replies, began + timeout_s, give_up)
            finally:
                del self._replies[ticket]
            return ScriptEnd(
                status=status,
                line=last_line(folder / STDOUT),
                error=last_line(folder / STDERR),
                duration_s=time.monotonic() - began,
            )

    def _waited(
        self,
        ticket: str,
        replies: queue.SimpleQueue[dict[str, Any]],
        until: float,
        give_up: Callable[[], bool],
    ) -> int | None:
        """The status; None when it was killed, at its limit or because it was given up."""
        while time.monotonic() < until and not give_up():
            if (found := _next(replies, LOOK_S)) is not None:
                return int(-found["signal"] if found["status"] is None else found["status"])
        self._send(do="signal", trial=ticket, signal=int(signal.SIGKILL))
        _next(replies, _GONE_S)
        return None

    def _send(self, **request: Any) -> None:
        with self._sending:
            self._link.send(**{"command": None, **request})

    def _listen(self) -> None:
        """Hand every ending to who waits for it, and the zygote's own end to everybody."""
        while not self._closing.is_set():
            try:
                messages = self._link.receive(_LISTEN_S)
            except LaunchFailed as failed:
                messages = [{"is": "lost", "trial": ticket, "why": failed} for ticket in
                            list(self._replies)]  # fmt: skip
                self._closing.set()
            for message in messages:
                waiting = self._replies.get(message["trial"])
                if waiting is not None and message["is"] != "started":
                    waiting.put(message)

    def _end(self) -> None:
        self._link.close()
        self._folder.cleanup()


def _next(replies: queue.SimpleQueue[dict[str, Any]], timeout_s: float) -> dict[str, Any] | None:
    try:
        message = replies.get(timeout=timeout_s)
    except queue.Empty:
        return None
    if message["is"] == "lost":
        raise message["why"]
    if message["is"] == "refused":
        raise LaunchFailed(f"a script could not be started: {message['reason']}")
    return message
