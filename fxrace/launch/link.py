"""The parent's end of the zygote: requests out, messages in, every wait bounded."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from fxrace.errors import InterpreterUnusable, LaunchFailed

HELLO_S = 300.0
FAREWELL_S = 5.0


class Link:
    """One zygote process. ``words`` is the file its standard error goes to.

    The zygote gets a session of its own, so Ctrl-C in a terminal reaches only the parent.
    """

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], words: Path) -> None:
        self._python, self._words = command[0], words
        self._unread = b""
        self._greeted = False
        try:
            with words.open("wb") as file:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=file,
                    env=dict(variables),
                    start_new_session=True,
                    bufsize=0,
                )
        except OSError as error:
            raise InterpreterUnusable(
                f"cannot start {self._python}: {error.strerror}", remedy="check --python"
            ) from error

    def __enter__(self) -> Link:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def hello(self, limit_s: float = HELLO_S) -> dict[str, Any]:
        """The zygote's first message. Raises ``InterpreterUnusable`` when none comes."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            try:
                messages = self.receive(until - time.monotonic())
            except LaunchFailed:
                raise self._unusable(f"stopped before it was ready{self._last_words()}") from None
            except ValueError:
                raise self._unusable("does not behave like a Python interpreter") from None
            if messages:
                return self._checked(messages[0])
        raise self._unusable(f"was not ready within {limit_s:.0f} s{self._last_words()}")

    def send(self, **request: Any) -> None:
        """Write one request. Raises ``LaunchFailed`` when the zygote is gone."""
        line = json.dumps(request).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._stdin, line) :]
        except OSError:
            raise self._failed() from None

    def receive(self, timeout_s: float) -> list[dict[str, Any]]:
        """The messages that have come, after at most ``timeout_s`` seconds.

        Raises ``LaunchFailed`` when the zygote died, ``ValueError`` on what is no message.
        """
        if not select.select([self._stdout], [], [], max(0.0, timeout_s))[0]:
            return []
        chunk = os.read(self._stdout, 1 << 16)
        if not chunk:
            raise self._failed()
        *lines, self._unread = (self._unread + chunk).split(b"\n")
        return [json.loads(line) for line in lines]

    def close(self) -> None:
        """End the zygote and with it every trial. Bounded.

        Before its hello it has no trials to end and is killed, as it is when it does not listen.
        """
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if not self._greeted:
            self._process.kill()
        try:
            self._process.wait(FAREWELL_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(FAREWELL_S)

    @property
    def _stdin(self) -> int:
        assert self._process.stdin is not None
        return self._process.stdin.fileno()

    @property
    def _stdout(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def _checked(self, message: Any) -> dict[str, Any]:
        if not isinstance(message, dict) or message.get("is") != "hello":
            raise self._unusable("does not behave like a Python interpreter")
        if message["problem"] is not None:
            raise self._unusable(str(message["problem"]))
        self._greeted = True
        return message

    def _unusable(self, what: str) -> InterpreterUnusable:
        remedy = "install torch there, or point --python at an environment that has it"
        return InterpreterUnusable(f"{self._python} {what}", remedy=remedy)

    def _failed(self) -> LaunchFailed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        code = self._process.returncode
        how = "stopped answering" if code is None else f"ended with status {code}"
        return LaunchFailed(
            f"the process that starts trials {how}{self._last_words()}",
            remedy="nothing stored is lost: run the same command again to go on",
        )

    def _last_words(self) -> str:
        """': ' and the last line of standard error, or nothing."""
        try:
            lines = self._words.read_text(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return f": {lines[-1].strip()[:300]}" if lines else ""
