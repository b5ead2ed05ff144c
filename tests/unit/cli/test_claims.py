"""``fxrace claims`` without an interpreter to ask: the list, the words, the errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fxrace.cli import main
from fxrace.errors import ExitCode
from fxrace.probe.claims import ARMS, known

ROOT = Path(__file__).parents[3]


def status(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["claims", *arguments])
    return int(ended.value.code or 0)


def test_the_list_needs_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from fxrace.cli import main; main(['claims', '--list'])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    for claim in known().values():
        assert f"{claim.id}  {claim.statement}" in ran.stdout
        assert all(one.when in ran.stdout for one in claim.experiments)


def test_the_claims_of_the_report_are_all_there() -> None:
    assert list(known()) == [f"C{number}" for number in range(1, 10)]


def test_every_experiment_has_a_name_of_its_own_and_three_arms() -> None:
    for claim in known().values():
        names = [one.id for one in claim.experiments]
        assert len(set(names)) == len(names)
        for one in claim.experiments:
            assert len({one.arm(name) for name in ARMS}) == len(ARMS)


def test_an_unknown_claim_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("C1", "C10") == ExitCode.USAGE
    assert "C10" in capsys.readouterr().err


def test_one_interpreter_that_is_none_is_a_usage_error(tmp_path: Path) -> None:
    nobody = str(tmp_path / "python")
    assert status("C1", "--python", nobody, "-o", str(tmp_path)) == ExitCode.USAGE
