"""Stores of synthetic runs, for the verbs that read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fxrace.commands import _options
from fxrace.records.finding import Finding, Side, Tier
from fxrace.records.outcome import Ending, Outcome, Stop, Throughput
from fxrace.records.trial import Trial
from fxrace.records.verdict import Verdict
from fxrace.store import open_store
from tests.unit.render import documents

PATCHER, FLAG = "d553fff8e308", "5e51b82bb52e"
LOCKS = ("none", "whole_step")


def finding(fingerprint: str, tier: Tier = Tier.FAILURE) -> Finding:
    sides = tuple(
        Side(thread=f"drafter-{n}", region="trace", access="write", stack=documents.STACK_A)
        for n in range(2)
    )
    return Finding(
        fingerprint=fingerprint, title=f"cause {fingerprint}", tier=tier, state="fx.patcher",
        hazard=None, sides=sides, symptoms=("AssertionError",), pattern="exception",
    )  # fmt: skip


def add_run(
    folder: Path,
    seen: Mapping[str, int],
    *,
    locks: tuple[str, ...] = LOCKS,
    repeats: int = 4,
    speed: float = 900.0,
    tier: Tier = Tier.FAILURE,
    ended: bool = True,
    record: Path | None = None,
) -> None:
    """A sweep over locks: without one, the first ``seen[fingerprint]`` repeats show a cause."""
    with open_store(folder / _options.DATABASE) as store:
        run = store.begin_run(
            environment=documents.environment(), command=("fxrace", "sweep"), settings={},
            axes={"locking": locks},
        )  # fmt: skip
        for repeat in range(repeats):
            for lock in locks:
                found = tuple(
                    finding(name, tier)
                    for name, times in seen.items()
                    if lock == "none" and repeat < times
                )
                failed = bool(found) and tier.proven
                store.append(
                    run,
                    trial=Trial(
                        target="a:b", knobs={"locking": lock}, seed=run.number, repeat=repeat
                    ),
                    outcome=Outcome(
                        verdict=Verdict.RAISED if failed else Verdict.CLEAN,
                        symptom="AssertionError" if failed else "",
                        duration_s=1.0,
                        throughput=None if failed else _speed(speed + repeat),
                    ),
                    ending=Ending(stop=Stop.EXITED, code=0, duration_s=1.0, overhead_s=0.0),
                    findings=found, payload={}, directory=record if failed else None,
                )  # fmt: skip
        if ended:
            store.end_run(run)


def _speed(slots: float) -> Throughput:
    return Throughput(
        draft_slots_per_s=slots, context_tokens_per_s=1.0, rows_per_s=1.0, tflops=0.1, mfu=None,
        oversubscribed=False,
    )  # fmt: skip
