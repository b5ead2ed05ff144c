"""One pytest run that asked for fxrace: which tests are looked at how, and where it all goes.

Under xdist every worker has one of these, and so has the controller; what workers find travels
with the reports of tests, and only the controller tells it.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from importlib.util import find_spec
from typing import Any

import msgspec
import pytest

from fxrace.records.document import FindingRow
from fxrace.records.testing import JudgedTest
from fxrace.testing import outcome, settings, spawned, telling
from fxrace.testing.bodies import replaced
from fxrace.testing.collected import Collected, known_in
from fxrace.testing.doors import Doors, torch_version
from fxrace.testing.exploration import Subject
from fxrace.testing.judging import Judged
from fxrace.testing.settings import Isolate, Mode
from fxrace.testing.wanted import SKIP, Wanted, usual, wanted_of

#: What the plugin manager knows it by; ``fxrace/pytest_plugin.py`` registers it.
NAME = "fxrace-session"
WANTED: pytest.StashKey[Wanted | None] = pytest.StashKey()
Wrapper = Generator[None, Any, Any]


class Session:
    """The plugin object. Raises pytest.UsageError where nothing can be looked at."""

    def __init__(self, config: pytest.Config) -> None:
        asked = settings.read(config)
        if find_spec("torch") is None:
            raise pytest.UsageError("--fxrace: this interpreter has no torch to look at")
        self.config = config
        self.is_worker = hasattr(config, "workerinput")
        self.doors = Doors(settings=asked, baseline=known_in(asked.baseline))
        self.collected = Collected()

    @property
    def settings(self) -> settings.Settings:
        return self.doors.settings

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Read the markers now: a typing error is told before anything runs."""
        for item in items:
            item.stash[WANTED] = wanted_of(item, self.settings)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Wrapper:
        """Look at the test in the way that was asked."""
        by_itself = "fxrace" in getattr(item, "fixturenames", ())
        left_alone = item.get_closest_marker(SKIP) is not None
        wanted = item.stash.get(WANTED, None)
        if left_alone:
            return (yield)
        if self.settings.isolate is Isolate.SPAWN and (wanted or by_itself):
            with replaced(item, lambda _body, _name: self._elsewhere(item)):
                return (yield)
        if by_itself:
            result = yield
            if self.settings.replay and outcome.FOUND not in item.stash:
                pytest.skip("the token is of another test")
            return result
        if self.settings.mode is Mode.EXPLORE:
            return (yield from self._explored(item, wanted))
        with self.doors.watch(item, wanted.expect if wanted else "clean") as told:
            result = yield
        outcome.end(told[0])
        return result

    def _explored(self, item: pytest.Item, wanted: Wanted | None) -> Wrapper:
        if wanted is None and self.settings.replay:
            pytest.skip("the token is of another test")
        if wanted is None:
            return (yield)
        ended: list[Judged] = []

        def explore(body: Any, name: str) -> bool:
            subject = Subject(
                who=(name,) * wanted.threads,
                prepare=lambda: [body] * wanted.threads,
                silent="capfd" not in getattr(item, "fixturenames", ()),
            )
            result, judged = self.doors.explore(item, subject, wanted)
            if result.foreign:
                pytest.skip("the token is of another test")
            if result.fails_alone:
                ended.append(judged)
                return True
            outcome.end(judged)
            return False

        with replaced(item, explore):
            value = yield
        for judged in ended:  # it passed here, though not in threads of its own
            outcome.end(judged)
        return value

    def _elsewhere(self, item: pytest.Item) -> bool:
        try:
            document = spawned.run(item, self.settings)
        except spawned.Broken as broken:
            pytest.fail(f"the interpreter of this test said nothing:\n{broken}", pytrace=False)
        tested = item.stash.setdefault(outcome.FOUND, outcome.Tested())
        tested.tests += document.tests
        tested.rows += document.findings
        rows = {row.fingerprint: row for row in document.findings}
        for test in document.tests:
            counted = [rows[one] for one in test.findings if one not in test.known]
            known = [rows[one] for one in test.known]
            outcome.end(
                Judged(
                    became=test.became, reason=test.reason,
                    counted=tuple(counted), known=tuple(known),
                )
            )  # fmt: skip
        return False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Wrapper:
        """Let what was found travel with the report."""
        report = yield
        tested = item.stash.get(outcome.FOUND, None)
        if call.when == "call" and tested is not None:
            report.fxrace = msgspec.to_builtins({"tests": tested.tests, "rows": tested.rows})
            if report.failed and tested.rows and "fxrace T" not in report.longreprtext:
                report.sections.append(("fxrace", telling.told(tested.rows)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In the controller, or in the only process."""
        if self.is_worker:
            return
        found = getattr(report, "fxrace", None)
        if found is not None:
            self.collected.add(
                msgspec.convert(found["tests"], list[JudgedTest]),
                msgspec.convert(found["rows"], list[FindingRow]),
                report.location,
            )
        elif report.when == "call" or not report.passed:
            self.collected.left_out += not report.skipped

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the document, also after Ctrl-C."""
        if self.is_worker or self.settings.report is None:
            return
        complete = exitstatus in (0, 1) and not self.config.getoption("keyword", "")
        self.collected.write(
            self.settings.report, mode=self.settings.mode.value, seed=self.settings.seed,
            torch=torch_version(), complete=complete,
        )  # fmt: skip

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """A section of its own, and annotations where GitHub runs this."""
        if self.is_worker or not self.collected.tests:
            return
        terminalreporter.section("fxrace")
        for line in self.collected.summary(self.settings.seed):
            terminalreporter.line(line)
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for line in self.collected.annotations():
                terminalreporter.line(line)


def session_of(config: pytest.Config) -> Session | None:
    """The run's Session; None where fxrace was not asked for."""
    found = config.pluginmanager.get_plugin(NAME)
    return found if isinstance(found, Session) else None


def wanted_for_calls(item: pytest.Item, session: Session) -> Wanted:
    """What holds for explorations that a test begins itself."""
    return item.stash.get(WANTED, None) or usual(item, session.settings)
