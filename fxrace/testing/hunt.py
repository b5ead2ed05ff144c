"""``python -m fxrace.testing.hunt``: runs the machine for a while and keeps what it finds.

Each round has a seed of its own. A cause not seen before is made smaller (fewer operations, then
fewer switches), written down, and known from then on. The result is JSON on stdout, growing lines
on stderr; a round can be run again by its seed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from fxrace.probe.explore import token
from fxrace.probe.explore.cause import cause_of
from fxrace.probe.explore.choices import Chooser, Stops
from fxrace.probe.explore.explorer import Budget
from fxrace.probe.explore.minimise import Minimiser
from fxrace.probe.explore.played import Ended, Played
from fxrace.probe.explore.program import Program
from fxrace.probe.explore.thread_programs import ThreadProgram, alike
from fxrace.testing.alone import Bench, bench
from fxrace.testing.machine import Search, Unlike, machine

STEPS, EXAMPLES = 10, 100
#: For each smaller program that is tried: whether it shows the cause as well.
SMALLER = Budget(schedules=60, seconds=15.0)
SMALLER_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Hunt:
    """What is looked for, and for how long: ``rounds`` at most, ``seconds`` at most. A round has
    ``examples`` runs of the machine, each of ``steps``.
    """

    seconds: float
    rounds: int | None = None
    examples: int = EXAMPLES
    steps: int = STEPS
    first: int = 1
    known: Sequence[str] = ()
    cost: str = "medium"
    only: Sequence[str] = ()


def hunt(one: Bench, wanted: Hunt) -> dict[str, Any]:
    """Rounds until they or the time are up: what was tried and every new cause, minimised."""
    began, found, rounds = time.monotonic(), list[dict[str, Any]](), list[dict[str, Any]]()
    until = began + wanted.seconds
    numbers = itertools.count(wanted.first)
    number = wanted.first

    def told(unlike: Unlike) -> None:
        least = {"seed": number, **_least(one, unlike)}
        found.append(least)
        print(json.dumps(least), file=sys.stderr, flush=True)

    search = Search(
        one, told, known=set(wanted.known), cost=wanted.cost, only=wanted.only,
        over=lambda: time.monotonic() > until,
    )  # fmt: skip
    while not search.over() and len(rounds) != wanted.rounds:
        number, before = next(numbers), search.schedules
        _round(search, number, wanted)
        rounds.append({"seed": number, "schedules": search.schedules - before})
    return {
        "duration_s": round(time.monotonic() - began, 1),
        "rounds": rounds,
        "programs": len(search.programs),
        "operations": len({n for made in search.programs for t in made.threads for n in t}),
        "schedules": search.schedules,
        "refused": dict(search.refused.most_common()),
        "seen": dict(search.seen.most_common()),
        "found": found,
    }


def _round(search: Search, number: int, wanted: Hunt) -> None:
    chosen = settings(
        max_examples=wanted.examples, stateful_step_count=wanted.steps, deadline=None,
        database=None, phases=(Phase.generate,), report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck), print_blob=False,
    )  # fmt: skip
    run_state_machine_as_test(seed(number)(machine(search)), settings=chosen)


def _least(one: Bench, unlike: Unlike) -> dict[str, Any]:
    """The smallest program and schedule of this cause that a minute finds."""
    until = time.monotonic() + SMALLER_S
    wanted = unlike.cause.fingerprint
    made, played = unlike.made, unlike.played
    smaller = True
    while smaller and time.monotonic() < until:
        smaller = False
        for less in (*made.smaller, *_without_thread(made)):
            shown = _shown(one, less, wanted) if time.monotonic() < until else None
            if shown is not None:
                made, played, smaller = less, shown, True
                break
    program, alone, _ = one.reference(made)
    played = _fewer_switches(one, program, alone, played, wanted)
    made_so = "".join(map(str, token.decisions(played.steps))).rstrip("0")
    again = [
        _shows(one, program, alone, token.Replay(tuple(map(int, made_so))), wanted)
        for _ in range(5)
    ]
    causes = unlike.cause
    return {
        "fingerprint": wanted,
        "state": causes.state,
        "regions": list(causes.regions),
        "symptoms": [f"{s.thread} {s.kind}: {s.what}"[:200] for s in causes.symptoms],
        "program": str(made),
        "stops": [f"{played.names[s.thread]} at {s.at}" for s in played.stood],
        "decisions": made_so,
        "shown": [sum(shown is not None for shown in again), len(again)],
    }


def _without_thread(made: ThreadProgram) -> list[ThreadProgram]:
    if len(made.threads) < 3:
        return []
    return [
        replace(made, threads=made.threads[:n] + made.threads[n + 1 :])
        for n in range(len(made.threads))
    ]


def _shown(one: Bench, made: ThreadProgram, wanted: str) -> Played | None:
    found, _ = one.explore(made, SMALLER)
    if found is None or wanted not in {cause.fingerprint for cause, _ in found.found}:
        return None
    return found.simplest(wanted)


def _fewer_switches(
    one: Bench, program: Program, alone: Sequence[Ended], played: Played, wanted: str
) -> Played:
    def shows(tried: Program, chooser: Chooser) -> bool:
        those = [ended for ended in alone if ended.thread in tried.names]
        return _shows(one, tried, those, chooser, wanted) is not None

    least = Minimiser(shows).minimise(program, played)
    if len(least.program.names) < len(program.names):
        return played  # fewer threads are the business of smaller programs
    fewer = Stops(least.start, least.stops)
    return _shows(one, program, alone, fewer, wanted) or played


def _shows(
    one: Bench, program: Program, alone: Sequence[Ended], chooser: Chooser, wanted: str
) -> Played | None:
    """The schedule as it was played, if it shows the cause."""
    played = one.workers.play(program, chooser)
    cause = cause_of(played, alone, alike)
    return played if cause is not None and cause.fingerprint == wanted else None


def main() -> int:
    """Exit status 0 whatever it finds: it is a measurement."""
    parser = argparse.ArgumentParser(prog="python -m fxrace.testing.hunt", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--cost", choices=("cheap", "medium", "expensive"), default="medium")
    parser.add_argument("--known", type=Path, help="a file whose words are known fingerprints")
    parser.add_argument("--only", nargs="+", default=(), help="operations to build programs of")
    chosen = parser.parse_args()
    known = chosen.known.read_text().split() if chosen.known else ()
    wanted = Hunt(
        seconds=chosen.seconds, first=chosen.seed, known=known, cost=chosen.cost, only=chosen.only
    )
    with bench() as one:
        told = hunt(one, wanted)
    print(json.dumps(told, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
