"""Two FX traces, for real: every schedule up to two preemptions, three times over, in a child."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fxrace.probe.explore.strategies.exhaustive import count

torch = pytest.importorskip("torch")

CHILD = """
import json, sys
import torch, torch.fx
from fxrace.probe.explore import token
from fxrace.probe.explore.choices import InOrder
from fxrace.probe.explore.explorer import explore, first_difference
from fxrace.probe.explore.minimise import Minimiser, points_by_thread
from fxrace.probe.explore.cause import cause_of
from fxrace.probe.explore.program import Program
from fxrace.probe.explore.schedule import exploring
from fxrace.probe.explore.workers import Workers

class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)
    def forward(self, x):
        return self.inner(x).relu()

def prepare():
    modules = [Module(), Module()]
    return [lambda m=m: torch.fx.symbolic_trace(m) for m in modules]

def alone_then_call():
    module, plain, x = Module(), Module(), torch.ones(1, 2)
    return [lambda: torch.fx.symbolic_trace(module), lambda: plain(x) is not None]

program = Program(prepare=prepare, condense=lambda g: str(g.graph), name="trace x trace")
runs, found = [], {}
with exploring("region") as stage, Workers(stage) as workers:
    for _ in range(3):
        told = explore(program, workers.play)
        workers.give_up()
        runs.append({
            "schedules": told.schedules, "exhausted": told.exhausted, "points": told.points,
            "strategy": told.strategy, "slips": told.slips, "unsteady": told.unsteady,
            "found": [[c.fingerprint, p.choices] for c, p in told.found],
            "causes": [[c.state, c.regions, c.states, sorted({s.kind for s in c.symptoms}),
                        c.fingerprint] for c in told.causes],
        })
    (cause,) = told.causes
    played = told.simplest(cause.fingerprint)
    about = token.what(program.name, 2, "region", stage.watched.names)
    text = token.written(about, played.steps)
    exact = 0
    for _ in range(10):
        again = workers.play(program, token.Replay(token.matched(text, about).made))
        same = cause_of(again, told.reference).fingerprint == cause.fingerprint
        exact += same and first_difference(played.steps, again.steps) is None

    def shows(program, chooser):
        other = cause_of(workers.play(program, chooser), told.reference)
        return other is not None and other.fingerprint == cause.fingerprint

    minimiser = Minimiser(shows)
    minimal = minimiser.minimise(program, played)
    alone = points_by_thread(workers.play(program, InOrder((0, 1))))
    swaps = minimiser.swaps(minimal, alone)
    serial = workers.play(program, InOrder((1, 0)))
    replay = {
        "token": text, "exact": exact, "stops": [[s.thread, s.at, s.to] for s in minimal.stops],
        "swaps": [[s.thread, s.passes, s.fails, s.later] for s in swaps],
        "value": [[d.state, d.before, d.during, d.after] for d in played.deviations],
        "stacks": [s.stack[-1][2] for s in played.stood],
        "serial": [serial.is_dirty, [e.error for e in serial.ended]],
    }
with exploring("state") as stage, Workers(stage) as workers:
    told = explore(Program(prepare=alone_then_call, condense=str), workers.play)
    (cause,) = told.causes
    victim = {"exhausted": told.exhausted, "state": cause.state, "regions": cause.regions,
              "kinds": sorted({(s.kind, s.thread) for s in cause.symptoms}),
              "points": told.points, "schedules": told.schedules}
print(json.dumps({"runs": runs, "replay": replay, "victim": victim}))
"""


@pytest.fixture(scope="module")
def told() -> dict:
    """One child process does it all: importing torch is most of the time."""
    root = Path(__file__).parents[3]
    variables = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD],
        capture_output=True,
        text=True,
        timeout=600,
        env=variables,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_every_schedule_up_to_the_bound_and_no_other(told: dict) -> None:
    run = told["runs"][0]
    assert run["strategy"] == "exhaustive"
    assert run["exhausted"]
    assert run["schedules"] == count(run["points"], 2) == 26
    assert not run["slips"] and not run["unsteady"]


def test_three_runs_are_the_same_run(told: dict) -> None:
    first, *others = told["runs"]
    assert all(other == first for other in others)


def test_the_assertion_the_flag_and_the_patched_modules_are_one_cause(told: dict) -> None:
    (state, regions, states, kinds, _), *more = told["runs"][0]["causes"]
    assert not more
    assert state == "fx.patcher"
    assert regions == ["trace", "trace"]
    assert {"fx.patcher", "nn.module_call", "nn.module_getattr"} <= set(states)
    assert {"raised", "left"} <= set(kinds)
    if told["runs"][0]["causes"][0][2][0] != "fx.patcher":
        assert "fx.tracing_flag" in states


def test_the_token_is_short_and_replays_exactly(told: dict) -> None:
    assert len(told["replay"]["token"]) <= 60
    assert told["replay"]["exact"] == 10


def test_it_takes_two_stops_and_says_where_the_outcome_turns(told: dict) -> None:
    stops, swaps = told["replay"]["stops"], told["replay"]["swaps"]
    assert len(stops) == 2
    first = stops[0][0]
    assert stops[0][1] == stops[1][1] == "trace:inside#1"
    assert [first, "trace:enter#1", "trace:inside#1", False] in swaps
    assert [first, "trace:exit#1", "trace:inside#1", True] in swaps


def test_values_before_during_and_after_and_both_stacks(told: dict) -> None:
    values = {state: rest for state, *rest in told["replay"]["value"]}
    before, _, after = values["nn.module_call"]
    assert before != after
    assert len(told["replay"]["stacks"]) == 2
    assert all(told["replay"]["stacks"])


def test_the_green_twin_one_after_the_other(told: dict) -> None:
    assert told["replay"]["serial"] == [False, [None, None]]


def test_a_plain_module_call_beside_a_trace_is_the_same_state(told: dict) -> None:
    victim = told["victim"]
    assert victim["exhausted"]
    assert victim["state"] == "nn.module_call"
    assert victim["regions"] == ["trace", "none"]
    assert ["raised", "B"] in victim["kinds"]
