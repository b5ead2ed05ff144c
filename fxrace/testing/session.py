"""One pytest run that asked for fxrace: which tests are looked at how, and where it all goes.

What is found is kept with the test; telling it is the business of ``reporting``.
"""

from __future__ import annotations

from collections.abc import Generator
from importlib.util import find_spec
from typing import Any

import pytest

from fxrace.testing import exploration, outcome, settings, spawned
from fxrace.testing.bodies import replaced
from fxrace.testing.collected import known_in, read_baseline
from fxrace.testing.doors import Doors
from fxrace.testing.exploration import Subject
from fxrace.testing.judging import Judged
from fxrace.testing.reporting import Reporting
from fxrace.testing.settings import Isolate, Mode
from fxrace.testing.wanted import SKIP, Wanted, usual, wanted_of

#: What the plugin manager knows it by; ``fxrace/pytest_plugin.py`` registers it.
NAME, REPORTING = "fxrace-session", "fxrace-reporting"
OTHERS_TOKEN = "the token is of another test"
WANTED: pytest.StashKey[Wanted | None] = pytest.StashKey()
Wrapper = Generator[None, Any, Any]


class Session:
    """The plugin object. Raises pytest.UsageError where nothing can be looked at."""

    def __init__(self, config: pytest.Config) -> None:
        asked = settings.read(config)
        if find_spec("torch") is None:
            raise pytest.UsageError("--fxrace: this interpreter has no torch to look at")
        baseline = read_baseline(asked)
        self.doors = Doors(settings=asked, baseline=known_in(baseline))
        reporting = Reporting(
            config, asked, "replay" if asked.replay else asked.mode.value, baseline
        )
        config.pluginmanager.register(reporting, REPORTING)

    @property
    def settings(self) -> settings.Settings:
        return self.doors.settings

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        exploration.plugins_are_there()

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
            return (yield from self._by_itself(item))
        if self.settings.mode is Mode.EXPLORE:
            return (yield from self._explored(item, wanted))
        with self.doors.watch(item, wanted.expect if wanted else "clean") as told:
            result = yield
        outcome.end(told[0])
        return result

    def _by_itself(self, item: pytest.Item) -> Wrapper:
        """A test with the fixture, which skips it at the first call that a token of another test
        makes meaningless. One that came to no call has passed and has shown nothing.
        """
        result = yield
        if self.settings.replay and outcome.FOUND not in item.stash:
            pytest.skip(OTHERS_TOKEN)
        return result

    def _explored(self, item: pytest.Item, wanted: Wanted | None) -> Wrapper:
        if wanted is None and self.settings.replay:
            pytest.skip(OTHERS_TOKEN)
        if wanted is None:
            return (yield)
        ended: list[Judged] = []

        def explore(body: Any, name: str) -> bool:
            subject = Subject(
                who=(name,) * wanted.threads,
                prepare=lambda: [body] * wanted.threads,
                silent="capfd" not in getattr(item, "fixturenames", ()),
            )
            result, judged = self.doors.explore(item, subject, wanted, replay=self.settings.replay)
            if result.foreign:
                pytest.skip(OTHERS_TOKEN)
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
        if not document.tests and self.settings.replay:
            pytest.skip(OTHERS_TOKEN)
        if not document.tests:
            return True
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


def session_of(config: pytest.Config) -> Session | None:
    """The run's Session; None where fxrace was not asked for."""
    found = config.pluginmanager.get_plugin(NAME)
    return found if isinstance(found, Session) else None


def wanted_for_calls(item: pytest.Item, session: Session) -> Wanted:
    """What holds for explorations that a test begins itself."""
    return item.stash.get(WANTED, None) or usual(item, session.settings)
