"""``python -m fxrace.testing.hunt``: runs the machine for a while and keeps what it finds.

Each round has a seed of its own and ends at the first cause not seen before. That one is made
smaller (fewer operations, then fewer switches), written down, and known from then on. The result
is JSON on stdout, growing lines on stderr; a round can be run again by its seed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from fxrace.probe.explore import token
from fxrace.probe.explore.cause import cause_of
from fxrace.probe.explore.choices import Stops
from fxrace.probe.explore.explorer import Budget, explore
from fxrace.probe.explore.minimise import Minimiser
from fxrace.probe.explore.played import Played
from fxrace.probe.explore.program import Program
from fxrace.probe.explore.thread_programs import ThreadProgram, alike, program_of
from fxrace.testing.alone import Bench, bench
from fxrace.testing.machine import Search, Unlike, machine

STEPS, EXAMPLES = 10, 100
#: For each smaller program that is tried: whether it shows the cause as well.
SMALLER = Budget(schedules=60, seconds=15.0)
SMALLER_S = 60.0


def hunt(
    one: Bench, *, seconds: float, first: int, known: Sequence[str], cost: str
) -> dict[str, Any]:
    """Rounds until the time is up. Returns what was tried and every new cause, minimised."""
    began, found, rounds = time.monotonic(), list[dict[str, Any]](), list[dict[str, Any]]()
    until = began + seconds
    search = Search(one, known=set(known), cost=cost)
    search.over = lambda: time.monotonic() > until  # type: ignore[method-assign]
    number = first
    while not search.over():
        before = search.schedules
        try:
            _round(search, number)
        except Unlike as unlike:
            told = {"seed": number, **_least(one, unlike)}
            found.append(told)
            search.known = {*search.known, told["fingerprint"], unlike.cause.fingerprint}
            print(json.dumps(told), file=sys.stderr, flush=True)
        rounds.append({"seed": number, "schedules": search.schedules - before})
        number += 1
    return {
        "duration_s": round(time.monotonic() - began, 1),
        "rounds": rounds,
        "programs": len(search.programs),
        "schedules": search.schedules,
        "refused": dict(search.refused.most_common()),
        "seen": dict(search.seen.most_common()),
        "found": found,
    }


def _round(search: Search, number: int) -> None:
    wanted = settings(
        max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, database=None,
        phases=(Phase.generate,), report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck), print_blob=False,
    )  # fmt: skip
    run_state_machine_as_test(seed(number)(machine(search)), settings=wanted)


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
    program = program_of(made)
    played = _fewer_switches(one, program, played, wanted)
    shows = [_cause(one, program, played, again=True) == wanted for _ in range(5)]
    causes = unlike.cause
    return {
        "fingerprint": wanted,
        "state": causes.state,
        "regions": list(causes.regions),
        "symptoms": [f"{s.thread} {s.kind}: {s.what}"[:200] for s in causes.symptoms],
        "program": str(made),
        "stops": [f"{played.names[s.thread]} at {s.at}" for s in played.stood],
        "decisions": list(token.decisions(played.steps)),
        "shown": [sum(shows), len(shows)],
    }


def _without_thread(made: ThreadProgram) -> list[ThreadProgram]:
    if len(made.threads) < 3:
        return []
    return [
        replace(made, threads=made.threads[:n] + made.threads[n + 1 :])
        for n in range(len(made.threads))
    ]


def _shown(one: Bench, made: ThreadProgram, wanted: str) -> Played | None:
    found = explore(program_of(made), one.workers.play, budget=SMALLER, same=alike)
    return found.simplest(wanted) if any(c.fingerprint == wanted for c, _ in found.found) else None


def _fewer_switches(one: Bench, program: Program, played: Played, wanted: str) -> Played:
    reference = explore(program, one.workers.play, budget=Budget(schedules=1), same=alike).reference

    def shows(tried: Program, chooser: Any) -> bool:
        alone = [ended for ended in reference if ended.thread in tried.names]
        cause = cause_of(one.workers.play(tried, chooser), alone, alike)
        return cause is not None and cause.fingerprint == wanted

    least = Minimiser(shows).minimise(program, played)
    if len(least.program.names) < len(program.names):
        return played  # fewer threads are the business of smaller programs
    again = one.workers.play(program, Stops(least.start, least.stops))
    cause = cause_of(again, reference, alike)
    return again if cause is not None and cause.fingerprint == wanted else played


def _cause(one: Bench, program: Program, played: Played, *, again: bool) -> str:
    reference = explore(program, one.workers.play, budget=Budget(schedules=1), same=alike).reference
    now = (
        one.workers.play(program, token.Replay(token.decisions(played.steps))) if again else played
    )
    cause = cause_of(now, reference, alike)
    return "" if cause is None else cause.fingerprint


def main() -> int:
    """Exit status 0 whatever it finds: it is a measurement."""
    parser = argparse.ArgumentParser(prog="python -m fxrace.testing.hunt", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--cost", choices=("cheap", "medium", "expensive"), default="medium")
    parser.add_argument("--known", type=Path, help="a file whose words are known fingerprints")
    chosen = parser.parse_args()
    known = chosen.known.read_text().split() if chosen.known else []
    with bench() as one:
        told = hunt(one, seconds=chosen.seconds, first=chosen.seed, known=known, cost=chosen.cost)
    print(json.dumps(told, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
