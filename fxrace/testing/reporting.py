"""Where what tests found goes: their reports, the end of the terminal, a file, GitHub's notes.

A plugin object of its own, because the suite of known hazards tells its results in the same way.
Under xdist the workers only put things into reports; the controller does everything else.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import msgspec
import pytest

from fxrace.core.baseline import EMPTY, Comparison, compare, updated
from fxrace.core.looks import look_at
from fxrace.records import wire
from fxrace.records.baseline import Baseline
from fxrace.records.document import FindingRow
from fxrace.records.repro import ReproRow
from fxrace.records.testing import JudgedTest, PytestDocument
from fxrace.testing import outcome, telling
from fxrace.testing.collected import Collected
from fxrace.testing.settings import Settings

Wrapper = Generator[None, Any, Any]


class Reporting:
    """``mode`` is how the document names the run; ``baseline`` is what it is compared with."""

    def __init__(
        self, config: pytest.Config, settings: Settings, mode: str, baseline: Baseline | None
    ) -> None:
        self.config, self.settings, self.mode = config, settings, mode
        self.baseline = baseline
        self.is_worker = hasattr(config, "workerinput")
        self.collected = Collected()
        self._complete = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Wrapper:
        """Let what was found travel with the report."""
        report = yield
        tested = item.stash.get(outcome.FOUND, None)
        if call.when == "call" and tested is not None:
            report.fxrace = msgspec.to_builtins(
                {"tests": tested.tests, "rows": tested.rows, "results": tested.results}
            )
            if report.failed and tested.rows and not report.longreprtext.startswith("fxrace T"):
                report.sections.append(("fxrace", telling.told(tested.rows)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In the controller, or in the only process."""
        found = getattr(report, "fxrace", None)
        if self.is_worker:
            return
        if found is not None:
            self.collected.add(
                msgspec.convert(found["tests"], list[JudgedTest]),
                msgspec.convert(found["rows"], list[FindingRow]),
                msgspec.convert(found["results"], list[ReproRow]),
                report.location,
            )
        elif report.failed:
            self.collected.left_out += 1

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """A part of the tests says nothing about what the others would have found."""
        self.collected.left_out += len(items)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the files, also after Ctrl-C. What was not looked at is not fixed."""
        self._complete = exitstatus in (0, 1) and not self.collected.left_out
        if self.is_worker:
            return
        if self.settings.report is not None:
            self._write(self.settings.report, self.document(), "--fxrace-report")
        if self.settings.update and self.settings.baseline is not None:
            new = updated(self.baseline or EMPTY, look_at(self.document()))
            self._write(self.settings.baseline, new, "--fxrace-update-baseline")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """A section of its own, and annotations where GitHub runs this."""
        if self.is_worker or not self.collected.tests:
            return
        terminalreporter.section("fxrace")
        for line in telling.summary(self.document(), self.comparison()):
            terminalreporter.line(line)
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for line in self.collected.annotations():
                terminalreporter.line(line)

    def document(self) -> PytestDocument:
        from fxrace.testing.doors import torch_version

        return self.collected.document(
            mode=self.mode, seed=self.settings.seed, torch=torch_version(), complete=self._complete
        )

    def comparison(self) -> Comparison | None:
        """Against the baseline; None where there is none."""
        return None if self.baseline is None else compare(self.baseline, look_at(self.document()))

    def _write(self, path: Any, record: Any, option: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wire.pretty(record) + "\n", encoding="utf-8")
        except OSError as error:
            raise pytest.UsageError(f"{option}: {path} cannot be written: {error}") from None
