"""Every racy twin of a hazard that a guard claims is clean with that guard and no other change.

In forks, as ``test_scripts.py`` runs them without a guard, where the same twins are red.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from fxrace.catalog.hazards import read_hazards, script_of
from fxrace.core.repro_judge import release, run_of
from fxrace.guards import available
from fxrace.guards._registry import load
from fxrace.launch.script_forks import ScriptForks
from fxrace.records.verdict import Verdict

TORCH = importlib.metadata.version("torch")
NOW = release(TORCH)
ROOT = Path(__file__).parents[2]
CPU = {hazard.slug: hazard for hazard in read_hazards(ROOT).hazards if hazard.device == "cpu"}
#: Guards that need a line in the program; tests/unit/guards shows them.
BY_HAND = {"readers_writer": "with running()", "freeze": "installed after warm-up"}
#: What the twin itself does that keeps the guard from showing.
UNFIT = {
    "fx-annotate-keyerror": "puts a dictionary of its own where the guard's is",
    "export-two-exports": "its first export waits for somebody, whom one_owner then lets in",
    "checkpoint-rng-rewound": "asks for the numbers of the global stream",
}
CLAIMS = [
    (guard, slug)
    for guard in available()
    if guard not in BY_HAND
    for slug in load(guard).cures
    if slug in CPU and slug not in UNFIT
]
UNDER = """
import runpy, sys
sys.path.insert(0, {root!r})
from fxrace import guards
guards.install({guard!r})
runpy.run_path({script!r}, run_name="__main__")
"""


@pytest.mark.parametrize(("guard", "slug"), CLAIMS)
def test_a_claim_holds(guard: str, slug: str, forks: ScriptForks, tmp_path: Path) -> None:
    hazard = CPU[slug]
    if not forks.usable:
        pytest.skip("this interpreter has threads after importing torch, so no fork of it")
    if not release(hazard.since) <= NOW < release(hazard.fixed_in or "99"):
        pytest.skip(f"torch {TORCH} does not have it: clean would say nothing")
    under = tmp_path / f"{slug}.py"
    script = str(script_of(ROOT, slug))
    under.write_text(UNDER.format(root=str(ROOT), guard=guard, script=script))
    end = forks.run(under, timeout_s=hazard.timeout_s, give_up=lambda: False)
    ran = run_of(end, timeout_s=hazard.timeout_s)
    assert ran.verdict is Verdict.CLEAN, (ran.reason, end.error)


def test_every_guard_that_claims_a_script_is_here() -> None:
    claiming = {guard for guard in available() if set(load(guard).cures) & set(CPU)}
    assert claiming == {guard for guard, _ in CLAIMS} | set(BY_HAND)
    assert set(UNFIT) <= set(CPU)
