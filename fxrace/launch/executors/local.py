"""Runs trials on this machine, ``jobs`` at a time, through one zygote.

One loop on one thread: start, listen, look. While the caller works on a result nothing is
lost, because the zygote stamps the times and reaps, and a late look is no evidence of a hang.
Fresh interpreters (CUDA) go through a zygote too, one that holds no torch: it executes instead
of forking only, so that both ways share limits, kill rules and the promise that nothing
outlives fxrace, not even when fxrace is killed with SIGKILL.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import fxrace
from fxrace.errors import LaunchFailed
from fxrace.launch import folder as folders
from fxrace.launch import interpreter
from fxrace.launch.flight import Flight
from fxrace.launch.link import Link
from fxrace.launch.progress import Ended, Mode, Progress, Started
from fxrace.launch.sources import sources
from fxrace.launch.stopping import Level, Stopping
from fxrace.records.environment import Environment
from fxrace.records.trial import Trial

LOOK_S = 0.05
ABANDON_S = 2.0


class LocalExecutor:
    """``with LocalExecutor(...) as executor: executor.run(trials, stopping=...)``.

    ``directory`` is the output folder; ``roots`` are folders that trials import targets from.
    Raises ``InterpreterUnusable`` and ``OutputUnwritable``.
    """

    def __init__(
        self,
        *,
        python: Path | str,
        directory: Path,
        jobs: int,
        roots: Sequence[Path],
        mode: Mode,
    ) -> None:
        self._python = interpreter.resolve(python)
        self._directory, self._jobs = directory, jobs
        self._roots, self._mode = tuple(roots), mode
        self._link: Link | None = None
        self._hello: dict[str, Any] | None = None
        # A digest may be run again on one link, and late words on its first run must not count.
        self._tickets = map(str, itertools.count())

    def __enter__(self) -> LocalExecutor:
        with folders.writable(self._directory):
            self._directory.mkdir(parents=True, exist_ok=True)
            words = self._directory / "launcher.txt"
            words.write_bytes(b"")
        variables = interpreter.variables(self._roots, forks=self._mode is Mode.FORK)
        command = interpreter.command(self._python, "fxrace.probe.zygote", self._mode.value)
        self._link = Link(command, variables, words)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None

    def describe(self) -> Environment:
        """The environment of the trials; waits for the zygote to be ready (seconds)."""
        hello = self._ready()
        return Environment(
            fxrace=fxrace.__version__,
            python=hello["python"],
            torch=hello["torch"],
            implementation=hello["implementation"],
            platform=hello["platform"],
            cpu_count=hello["cpu_count"],
            gpus=tuple(hello["gpus"]),
            gil=hello["gil"],
            executable=hello["executable"],
            sources=self.sources(),
        )

    def sources(self) -> str:
        """The hash of the code that takes part in trials, as it is on disk now (8 ms)."""
        return sources(self._roots)

    def run(self, trials: Sequence[Trial], *, stopping: Stopping) -> Iterator[Progress]:
        """Start every trial in order, ``jobs`` at a time; yields as they start and end.

        When ``stopping`` says FINISH no further trial starts, at KILL the running ones are
        ended (Stop.INTERRUPTED). A caller that stops iterating ends them too. Digests must be
        unique within one call.
        """
        self._ready()
        waiting, flights = list(reversed(trials)), dict[str, Flight]()
        try:
            while flights or (waiting and stopping.level is Level.RUN):
                while waiting and len(flights) < self._jobs and stopping.level is Level.RUN:
                    ticket = next(self._tickets)
                    flights[ticket] = self._start(ticket, waiting.pop())
                for message in self._open.receive(LOOK_S):
                    yield from self._heard(message, flights)
                yield from self._look(flights, stopping)
        finally:
            self._abandon(flights)

    def _start(self, ticket: str, trial: Trial) -> Flight:
        requested, link = time.monotonic(), self._open
        folder = folders.prepare(self._directory, trial)

        def send(number: int) -> None:
            link.send(do="signal", trial=ticket, signal=int(number))

        command = None
        if self._mode is Mode.SPAWN:
            command = interpreter.command(self._python, "fxrace.probe.confine", str(folder.path))
        link.send(
            do="start",
            trial=ticket,
            directory=str(folder.path),
            variables=folder.variables,
            command=command,
        )
        gil = bool(self._ready()["gil"])
        return Flight(trial, folder, requested=requested, send=send, gil=gil)

    def _heard(self, message: dict[str, Any], flights: dict[str, Flight]) -> Iterator[Progress]:
        """Act on one message of the zygote; late words on trials given up are passed over."""
        flight = flights.get(message["trial"])
        if flight is None:
            return
        if message["is"] == "started":
            flight.started(message["pid"], message["at"])
            yield Started(trial=flight.trial, directory=flight.folder.path)
            return
        del flights[message["trial"]]
        if message["is"] == "refused":
            ending = flight.refused(message["reason"], time.monotonic)
        else:
            ending = flight.ended(message, time.monotonic)
        yield Ended(trial=flight.trial, directory=flight.folder.path, ending=ending)

    def _look(self, flights: dict[str, Flight], stopping: Stopping) -> Iterator[Progress]:
        """Watch every running trial; give up on those that outlive SIGKILL."""
        for ticket, flight in list(flights.items()):
            if stopping.level is Level.KILL:
                flight.interrupt(time.monotonic())
            flight.look(time.monotonic)
            if flight.immortal(time.monotonic()):
                del flights[ticket]
                ending = flight.given_up(time.monotonic)
                yield Ended(trial=flight.trial, directory=flight.folder.path, ending=ending)

    def _abandon(self, flights: dict[str, Flight]) -> None:
        """The caller is gone in mid-iteration: leave no process running."""
        until = time.monotonic() + ABANDON_S
        try:
            for flight in flights.values():
                flight.interrupt(time.monotonic())
            while flights and time.monotonic() < until:
                for message in self._open.receive(LOOK_S):
                    for _ in self._heard(message, flights):
                        pass
        except LaunchFailed:
            return

    @property
    def _open(self) -> Link:
        if self._link is None:
            raise RuntimeError("LocalExecutor is used outside its with block")
        return self._link

    def _ready(self) -> dict[str, Any]:
        if self._hello is None:
            self._hello = self._open.hello()
        return self._hello
