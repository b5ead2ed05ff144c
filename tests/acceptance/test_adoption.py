"""Three small projects take the plugin up with three lines or fewer, and it catches their race."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.adoption import EXPORTER, SERVER, TRAINER, Project, adopt, run

pytestmark = pytest.mark.slow


Ran = tuple[int, dict[str, Any], str]


@pytest.fixture(scope="module")
def racy(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Project], Ran]:
    """Project -> a run of its tests with its race in it; each is run once."""

    @cache
    def ran(project: Project) -> Ran:
        folder = tmp_path_factory.mktemp(project.name)
        return run(adopt(project, folder, racy=True), "--fxrace-time=20m")

    return ran


@pytest.mark.parametrize("project", [SERVER, TRAINER, EXPORTER], ids=lambda one: one.name)
def test_the_planted_race_is_red_and_without_it_all_is_green(
    project: Project, racy: Callable[[Project], Ran], tmp_path: Path
) -> None:
    assert len(project.added) <= 3
    status, document, printed = racy(project)
    assert status == 1, printed
    (test,) = document["tests"]
    assert (test["verdict"], test["became"]) == ("finding", "failed")
    assert all(row["tier"] in ("T0", "T1", "T2") for row in document["findings"])
    status, document, printed = run(adopt(project, tmp_path, racy=False), "--fxrace-time=20m")
    assert status == 0, printed
    (test,) = document["tests"]
    assert (test["verdict"], test["became"]) == ("safe", "passed")


def test_verdict_and_token_are_the_same_each_time(
    racy: Callable[[Project], Ran], tmp_path: Path
) -> None:
    folder = adopt(SERVER, tmp_path, racy=True)
    runs = [racy(SERVER), run(folder, "--fxrace-time=20m")]
    findings = [[(f["fingerprint"], f["token"]) for f in run["findings"]] for _, run, _ in runs]
    assert findings[0] == findings[1]
    (token,) = [token for _, token in findings[0]]
    status, document, printed = run(folder, "--fxrace-replay", token)
    assert status == 1, printed
    assert [f["fingerprint"] for f in document["findings"]] == [f for f, _ in findings[0]]
