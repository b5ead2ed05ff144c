"""From what was found in one test to what pytest is told: a failure, an xfail, a skip or nothing.

The rows travel with the test's report, so that under xdist they come to the controller by the
way that reports come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from fxrace.core import explored_rows
from fxrace.core.program import row_of
from fxrace.pipeline import attribute_rows
from fxrace.records.document import FindingRow
from fxrace.records.exploration import PairVerdict
from fxrace.records.finding import Finding
from fxrace.records.repro import ReproRow
from fxrace.records.testing import Became, JudgedTest
from fxrace.testing import telling
from fxrace.testing.exploration import Result
from fxrace.testing.judging import Judged


@dataclass(kw_only=True, slots=True)
class Tested:
    """What is known of one test so far; several explorations of it add up."""

    tests: list[JudgedTest] = field(default_factory=list)
    rows: list[FindingRow] = field(default_factory=list)
    results: list[ReproRow] = field(default_factory=list)

    @property
    def tokens(self) -> tuple[str, ...]:
        """Schedules that failed it, for a rerun."""
        return tuple(row.token for row in self.rows if row.token)


#: Enough of an exploration's settings for its rows.
_AS_SCHEDULED = {"strategy": "portfolio"}
FOUND: pytest.StashKey[Tested] = pytest.StashKey()


def rows_of(result: Result, nodeid: str) -> tuple[FindingRow, ...]:
    """The causes of an exploration, with the hazards they are of and pytest's replay line."""
    found = explored_rows.findings([result.explored], _AS_SCHEDULED, "")
    return attribute_rows([
        replace(row, replay=telling.replay_line(nodeid, row.token), trials=(nodeid,))
        for row in found
    ])  # fmt: skip


def rows_seen(findings: Iterable[Finding], nodeid: str) -> tuple[FindingRow, ...]:
    """The same of findings of a test that was watched."""
    line = telling.replay_line(nodeid, "").replace("=explore", "=observe")
    return attribute_rows([row_of(one, [nodeid], 1, line) for one in findings])


def keep(
    item: pytest.Item, mode: str, judged: Judged, rows: Sequence[FindingRow], *,
    seed: int = 0, result: Result | None = None, verdict: PairVerdict | None = None,
    duration_s: float = 0.0,
) -> None:  # fmt: skip
    """Remember it for the test's report, and as JUnit properties."""
    data = {} if result is None else result.explored.data
    tested = item.stash.setdefault(FOUND, Tested())
    tested.rows += rows
    tested.tests.append(
        JudgedTest(
            test=item.nodeid,
            mode=mode,
            verdict=verdict or PairVerdict(data["verdict"]),
            became=judged.became,
            reason=judged.reason,
            findings=tuple(row.fingerprint for row in rows),
            known=tuple(row.fingerprint for row in judged.known),
            seed=seed,
            strategy=str(data.get("strategy", "")),
            schedules=int(data.get("schedules", 0)),
            exhausted=bool(data.get("exhausted", False)),
            duration_s=round(duration_s, 3),
        )
    )
    last = tested.tests[-1]
    item.user_properties.append(("fxrace_verdict", last.verdict.value))
    item.user_properties.append(("fxrace_schedules", last.schedules))
    for row in rows:
        item.user_properties.append(("fxrace_finding", row.fingerprint))
        item.user_properties.append(("fxrace_replay", row.replay))


def end(judged: Judged) -> None:
    """Raises what pytest makes a failure, an xfail or a skip of; returns for a pass."""
    if judged.became is Became.KNOWN:
        pytest.xfail(judged.reason)  # does nothing under --runxfail: then known races fail
        pytest.fail(telling.told(judged.known), pytrace=False)
    if judged.became is Became.NOTHING:
        pytest.skip(judged.reason)
    if judged.became is Became.FAILED:
        pytest.fail(telling.told(judged.counted) or judged.reason, pytrace=False)
