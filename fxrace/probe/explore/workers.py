"""Processes that play schedules: forked from one that is clean, and given up when they are not.

The process that holds this imports torch, puts the hooks on and plays nothing itself. A worker is
its fork; it plays schedule after schedule as long as each leaves the process as it was, which is
as fast as playing in-process, and the first poisoned one is its last. The surprise: nothing is
cleaned up, ever; a process that saw a bad schedule is of no use, and forking costs 30 ms.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import NoReturn

from fxrace.probe.explore.baton import LIMIT_S
from fxrace.probe.explore.choices import Chooser, InOrder
from fxrace.probe.explore.played import End, Ended, Played
from fxrace.probe.explore.program import Program
from fxrace.probe.explore.schedule import Stage

ANSWER_S = 5.0
DYING_S = 2.0


#: Points that say that something was compiled: caches remember it, and the next one is no first.
_REMEMBERED = ("compile:", "aot:", "inductor:", "triton:", "export:")


def poisoned(played: Played) -> bool:
    """True where the process may not be as it was: the registry does not know every State."""
    failed = any(ended.error is not None for ended in played.ended)
    return played.is_dirty or failed or any(s.at.startswith(_REMEMBERED) for s in played.steps)


class Workers:
    """One worker at a time. Use it as a context manager: at its end the worker is killed.

    ``spent`` says after which schedules a worker must not be used again; ``lambda _: True`` gives
    each schedule a process of its own. A worker that has not answered ``answer_s`` after the
    time limit is killed: it may hold the interpreter lock, and then nothing inside can say so.
    """

    def __init__(
        self,
        stage: Stage,
        *,
        spent: Callable[[Played], bool] = poisoned,
        limit_s: float = LIMIT_S,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._stage, self._spent = stage, spent
        self._within_s = limit_s + answer_s
        self._pid: int | None = None
        self._link: Connection | None = None
        self._program: Program | None = None
        self.forks = 0

    def play(self, program: Program, chooser: Chooser) -> Played:
        """One schedule in a clean process, whatever it does to that process."""
        if self._link is None or program is not self._program:
            self.give_up()
            self._fork(program)
        link = self._link
        assert link is not None
        dying_s = 0.0
        try:
            link.send(chooser)
            played = link.recv() if link.poll(self._within_s) else None
        except (EOFError, OSError):
            played, dying_s = None, DYING_S
        if not isinstance(played, Played):
            how = self.give_up(dying_s)
            return lost(program, how if played is None else str(played))
        if self._spent(played):
            self.give_up()
        return played

    def import_for(self, program: Program) -> None:
        """Import here what the program imports while it runs, so that no worker has to.

        Found out by one that is thrown away. Names that cannot be imported here are left out.
        """
        kept, self._spent = self._spent, _never
        self.play(program, InOrder(tuple(range(len(program.names)))))
        self._spent = kept
        names: object = ()
        with suppress(EOFError, OSError):
            if self._link is not None:
                self._link.send(None)
                names = self._link.recv() if self._link.poll(self._within_s) else ()
        self.give_up()
        for name in names if isinstance(names, tuple) else ():
            with suppress(Exception):
                importlib.import_module(name)

    def give_up(self, dying_s: float = 0.0) -> str:
        """Kill the worker, if there is one. Returns how it ended, in words.

        ``dying_s``: it has hung up, so it is about to end by itself, and how is worth knowing.
        """
        pid, link, self._pid, self._link = self._pid, self._link, None, None
        if link is not None:
            link.close()
        if pid is None:
            return "no process"
        if dying_s:
            _wait_for(pid, dying_s)
        done, status = os.waitpid(pid, os.WNOHANG)
        if not done:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return "it did not answer"
        if os.WIFSIGNALED(status):
            return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
        return f"exited with {os.WEXITSTATUS(status)}"

    def __enter__(self) -> Workers:
        """Nothing that is here now is garbage: looking for some would copy it in every fork."""
        gc.collect()
        gc.freeze()
        return self

    def __exit__(self, *exc: object) -> None:
        self.give_up()
        gc.unfreeze()

    def _fork(self, program: Program) -> None:
        ours, theirs = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if not pid:
            ours.close()
            _work(theirs, self._stage, program)
        theirs.close()
        self._pid, self._link, self._program = pid, ours, program
        self.forks += 1


def _never(_: Played) -> bool:
    return False


def _wait_for(pid: int, seconds: float) -> None:
    """Until the process has ended, where the system can tell without polling."""
    if hasattr(os, "pidfd_open"):
        descriptor = os.pidfd_open(pid)
        try:
            select.select([descriptor], [], [], seconds)
        finally:
            os.close(descriptor)


def _work(link: Connection, stage: Stage, program: Program) -> NoReturn:
    """The worker: schedules until the other end is gone. Leaves no way back into the caller."""
    status = 1
    try:
        while True:
            chooser = link.recv()
            names = tuple(sys.modules)
            link.send(names if chooser is None else stage.play(program, chooser))
    except EOFError:
        status = 0
    except BaseException:
        with suppress(OSError):
            link.send(traceback.format_exc())
    finally:
        os._exit(status)


def lost(program: Program, how: str) -> Played:
    """What is known of a schedule whose process is gone."""
    return Played(
        names=program.names,
        steps=(),
        ended=tuple(Ended(thread=name) for name in program.names),
        end=End.LOST,
        drift=how,
    )
