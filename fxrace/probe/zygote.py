"""The process that starts trials: imports torch once, then forks one process per request.

Protocol: JSON lines. In on stdin: ``{"do": "start", "trial", "directory", "variables",
"command"}`` (``command`` None forks; a list is executed instead, for CUDA, which no fork
survives; with ``"script": {"path", "arguments"}`` the fork runs that and no trial) and
``{"do": "signal", "trial", "signal"}``. Out on stdout: one ``hello``, then ``started``,
``refused``, ``ended``; times are ``time.monotonic()`` seconds, which all processes of a machine
share. When stdin ends, the parent is gone: every trial is killed and so is this.

The surprise: a finished trial is first seen without being reaped, its whole process group is
killed, and only then is it reaped, so that no signal can ever reach a recycled process id.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from fxrace.probe import script
from fxrace.probe.confine import STACKS_SIGNAL, adopt_orphans, arm_stacks, confine
from fxrace.probe.describe import describe_apart, import_problem

FORK = "fork"
START_FAILED = 71


class Zygote:
    """Requests in, trial processes out. Lives on the one thread of this process."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests, self._replies = requests, replies
        self._unread = b""
        self._pids: dict[str, int] = {}
        self._leaving = False
        self._wake, self._woken = os.pipe()
        for end in (self._wake, self._woken):
            os.set_blocking(end, False)

    def reply(self, kind: str, **fields: Any) -> None:
        """Write one message; a parent that is gone is noticed by the loop."""
        line = json.dumps({"is": kind, **fields}).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._replies, line) :]
        except BrokenPipeError:
            self._leaving = True

    def serve(self) -> None:
        """Answer requests until stdin ends or SIGTERM comes, then kill what still runs."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._leave)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        while not self._leaving:
            ready, _, _ = select.select([self._requests, self._wake], [], [])
            if self._wake in ready:
                with suppress(BlockingIOError):
                    os.read(self._wake, 4096)
            self._reap()
            if self._requests in ready:
                self._take()
        for pid in self._pids.values():
            _kill_group(pid, signal.SIGKILL)
        self._reap_all()

    def _leave(self, *_: object) -> None:
        self._leaving = True

    def _take(self) -> None:
        chunk = os.read(self._requests, 65536)
        if not chunk:
            self._leaving = True
            return
        *lines, self._unread = (self._unread + chunk).split(b"\n")
        for line in lines:
            request = json.loads(line)
            if request["do"] == "start":
                self._start(request)
            elif request["trial"] in self._pids:
                _send(self._pids[request["trial"]], request["signal"])

    def _start(self, request: dict[str, Any]) -> None:
        threads = thread_count()
        if threads != 1 and request["command"] is None:
            reason = f"the zygote has {threads} threads, and a fork would lose all but one"
            self.reply("refused", trial=request["trial"], reason=reason)
            return
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            self.reply("refused", trial=request["trial"], reason=f"cannot fork: {error}")
            return
        if not pid:
            try:
                self._become(request, parent)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(START_FAILED)
        self._pids[request["trial"]] = pid
        self.reply("started", trial=request["trial"], pid=pid, at=time.monotonic())

    def _become(self, request: dict[str, Any], parent: int) -> NoReturn:
        """In the fork: leave everything of the zygote behind and run the trial."""
        signal.set_wakeup_fd(-1)
        for descriptor in (self._replies, self._wake, self._woken):
            os.close(descriptor)
        directory = Path(request["directory"])
        confine(directory, parent)
        os.environ.update(request["variables"])
        if request["command"] is not None:
            os.execv(request["command"][0], request["command"])
        if "script" in request:
            script.run(request["script"]["path"], request["script"]["arguments"])
        arm_stacks(directory)
        from fxrace.probe.child import run_trial

        run_trial(directory)

    def _reap(self) -> None:
        """Report every trial that ended; reap adopted orphans in passing."""
        trials = {pid: trial for trial, pid in self._pids.items()}
        while (pid := _ended_child()) is not None:
            at = time.monotonic()
            trial = trials.get(pid)
            if trial is not None:
                _kill_group(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
            if trial is None:
                continue
            del self._pids[trial]
            if not self._pids:
                self._end_strays()
            killed = os.WIFSIGNALED(status)
            self.reply(
                "ended",
                trial=trial,
                at=at,
                signal=os.WTERMSIG(status) if killed else None,
                status=None if killed else os.WEXITSTATUS(status),
                cpu_s=usage.ru_utime + usage.ru_stime,
            )

    def _reap_all(self, limit_s: float = 3.0) -> None:
        until = time.monotonic() + limit_s
        while self._pids and time.monotonic() < until:
            self._reap()
            time.sleep(0.002)
        self._end_strays()

    def _end_strays(self, rounds: int = 50) -> None:
        """Kill orphans that left their trial's process group and were handed to this process.

        Only when no trial runs: an orphan does not say whose it was.
        """
        for _ in range(rounds):
            strays = _children()
            if not strays:
                return
            for pid in strays:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            for pid in strays:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            time.sleep(0.002)


def thread_count() -> int:
    """Threads of this process as the kernel sees them; Python's own where there is no /proc."""
    try:
        return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - hot path, names only
    except OSError:
        import threading

        return threading.active_count()


def _ended_child() -> int | None:
    """A child that has ended and is not reaped yet."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return found.si_pid if found is not None else None


def _children() -> list[int]:
    me = os.getpid()
    try:
        text = Path(f"/proc/{me}/task/{me}/children").read_text()
    except OSError:
        return []
    return [int(pid) for pid in text.split()]


def _send(pid: int, number: int) -> None:
    """STACKS_SIGNAL is for the trial itself; all else is for its whole group."""
    if number == STACKS_SIGNAL:
        os.kill(pid, number)
    else:
        _kill_group(pid, number)


def _kill_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        # Not yet in a group of its own; the unreaped child itself still holds its id.
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def main(mode: str) -> None:
    """Say hello (or why not), then serve. ``mode`` is ``fork`` or ``spawn``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    adopt_orphans()
    replies = os.dup(1)
    os.dup2(2, 1)  # whatever torch prints at import must not break the protocol
    zygote = Zygote(0, replies)
    began = time.monotonic()
    missing: tuple[tuple[str, str], ...] = ()
    if mode == FORK:
        from fxrace.probe.preload import preload

        gc.disable()  # what an import makes stays, and looking through it is a tenth of the time
        try:
            missing = preload()
        except BaseException as error:
            zygote.reply("hello", problem=import_problem(error))
            return
        gc.collect()
        gc.freeze()  # keeps collections in the forks from copying the pages of torch
        gc.enable()
    preload_s = time.monotonic() - began
    zygote.reply(
        "hello",
        **describe_apart(),
        threads=thread_count(),
        preload_s=preload_s,
        missing=missing,
    )
    zygote.serve()


if __name__ == "__main__":
    main(sys.argv[1])
