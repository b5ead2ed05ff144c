"""What only may happen decides nothing: no exit status, no replay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fxrace.commands import _ending
from fxrace.core.detect import findings_in
from fxrace.core.evidence import Evidence
from fxrace.core.judge import judge
from fxrace.core.summarise import Judged
from fxrace.errors import ExitCode
from fxrace.pipeline import _reproduces
from fxrace.records.finding import Tier
from fxrace.records.verdict import Verdict
from tests.unit.core.evidence_of import STEPS, evidence
from tests.unit.core.samples_of_races import FIRES
from tests.unit.core.test_detect import PATCHER, USER, raised
from tests.unit.render.documents import document, finding, sweep, trial


def judged(given: Evidence) -> Judged:
    findings = findings_in(given)
    return Judged(trial=given.trial, outcome=judge(given, findings), findings=findings)


def test_a_race_that_did_not_show_again_is_no_other_outcome() -> None:
    assert _reproduces(judged(evidence(*STEPS)), judged(FIRES["race"]))


def test_another_failure_is_another_outcome() -> None:
    failed, other = judged(evidence(raised(PATCHER))), judged(evidence(raised(USER)))
    assert _reproduces(failed, failed)
    assert not _reproduces(other, failed)


@pytest.mark.parametrize("tier", Tier)
def test_only_what_is_proved_fails_a_sweep(tier: Tier) -> None:
    document = sweep()
    findings = tuple(replace(row, tier=tier) for row in document.findings)
    assert findings
    code = _ending.exit_code(replace(document, findings=findings), _ending.fail_on("findings"))
    assert (code is ExitCode.FINDINGS) == tier.proven


@pytest.mark.parametrize("fail_on", ["findings", "RAISED"])
@pytest.mark.parametrize("reason", [None, "known upstream"])
def test_what_is_suppressed_fails_no_sweep(fail_on: str, reason: str | None) -> None:
    row = finding(("1" * 16,), suppressed=reason)
    failed = trial(
        {"locking": "none"}, 1, Verdict.RAISED, digest="1" * 16, findings=(row.fingerprint,)
    )
    given = document([failed], axes={"locking": ("none",)}, findings=(row,))
    code = _ending.exit_code(given, _ending.fail_on(fail_on))
    assert (code is ExitCode.FINDINGS) == (reason is None)
