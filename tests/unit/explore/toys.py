"""Small programs with known schedules: bodies that reach points by hand. No torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fxrace.probe.explore.choices import Chooser
from fxrace.probe.explore.current import Current
from fxrace.probe.explore.played import Played
from fxrace.probe.explore.program import Program
from fxrace.probe.explore.schedule import Limits, Stage, bare
from fxrace.probe.explore.strategies import Setting, Strategy

QUICK = Limits(grace_s=0.05, standing_s=0.3, limit_s=20.0)


def counting(points: Sequence[int], current: Current, log: list[str]) -> Program:
    """Thread ``i`` reaches ``points[i]`` points, and writes its name in each segment."""

    def body(number: int) -> Callable[[], int]:
        def run() -> int:
            log.append(NAMES[number])
            for _ in range(points[number]):
                current.reach("p")
                log.append(NAMES[number])
            return number

        return run

    def prepare() -> list[Callable[[], Any]]:
        log.clear()
        return [body(number) for number in range(len(points))]

    return Program(prepare=prepare, names=NAMES[: len(points)])


NAMES = ("A", "B", "C", "D")


def every(
    program: Program, stage: Stage, strategy: Strategy, setting: Setting, most: int = 5000
) -> list[Played]:
    """All schedules of a search, in this process."""
    search, found = strategy.begin(setting), list[Played]()
    while len(found) < most and (chooser := search.propose()) is not None:
        played = stage.play(program, chooser)
        found.append(played)
        assert search.learn(played.steps) == ""
    return found


def once(bodies: Sequence[Callable[[Current], Any]], chooser: Chooser, limits: Limits = QUICK):
    """One schedule of bodies that take where points are reached."""
    stage, current = bare(limits)
    names = NAMES[: len(bodies)]
    program = Program(prepare=lambda: [lambda b=b: b(current) for b in bodies], names=names)
    return stage.play(program, chooser)
