"""``--fxrace=explore``: every kind of test, both fixtures; and the same on two workers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.acceptance.plugin.running import COUNTER, WITH_TORCH, became, ran

pytest_plugins = "pytester"
pytestmark = pytest.mark.slow

TESTS = """
import unittest


@pytest.fixture(scope="module")
def of_module():
    return Counter()


@pytest.fixture(scope="session")
def of_session():
    return Safe()


@pytest.mark.fxrace
def test_racy(counter):
    counter.add()


@pytest.mark.fxrace
def test_safe(safe):
    safe.add()


def test_plain(counter):
    counter.add()


@pytest.mark.fxrace(threads=3, schedules=12, strategy="random")
def test_three(of_module):
    of_module.add()


@pytest.mark.fxrace(schedules=5)
def test_session(of_session):
    of_session.add()


@pytest.mark.fxrace
def test_fails_alone(counter):
    assert counter.value == 1


@pytest.mark.fxrace
def test_skips():
    pytest.skip("not here")


@pytest.mark.fxrace_skip(reason="own business")
@pytest.mark.fxrace
def test_left_alone(counter):
    counter.add()


@pytest.mark.fxrace(schedules=20)
@pytest.mark.parametrize("kind", [Counter, Safe])
class TestClass:
    def test_method(self, kind, _made={}):
        _made.setdefault(kind, kind()).add()


class OfUnittest(unittest.TestCase):
    def setUp(self):
        self.counter = Counter()

    @pytest.mark.fxrace
    def test_it(self):
        self.counter.add()


def test_calls(fxrace):
    counter = Counter()
    fxrace.explore(counter.add, counter.add)


def test_safe_calls(fxrace):
    told = fxrace.explore(lambda c: c.add(), prepare=Safe, threads=2, schedules=10)
    assert told.data["verdict"] == "safe"


def test_watches(fxrace):
    with fxrace.watch():
        pass


class Crossed:
    def __init__(self):
        self.one, self.other, self.calls = threading.Lock(), threading.Lock(), 0

    def add(self):
        self.calls += 1
        pair = (self.one, self.other) if self.calls % 2 else (self.other, self.one)
        with pair[0], pair[1]:
            pass


@pytest.fixture
def crossed():
    return Crossed()


@pytest.mark.fxrace
def test_deadlock(crossed):
    crossed.add()


@pytest.mark.fxrace
def test_crashes(counter):
    import os
    try:
        counter.add()
    except AssertionError:
        os.abort()
"""
EXPECTED = {
    "test_racy": "failed",
    "test_safe": "passed",
    "test_three": "failed",
    "test_session": "passed",
    "test_fails_alone": "nothing",
    "test_skips": "nothing",
    "TestClass::test_method[Counter]": "failed",
    "TestClass::test_method[Safe]": "passed",
    "OfUnittest::test_it": "failed",
    "test_calls": "failed",
    "test_safe_calls": "passed",
    "test_watches": "passed",
    "test_deadlock": "failed",
    "test_crashes": "failed",
}


def told(document: dict[str, Any]) -> dict[str, Any]:
    """What must be the same in every run: all but times."""
    return json.loads(
        json.dumps(document["tests"], sort_keys=True),
        object_hook=lambda one: {k: v for k, v in one.items() if k != "duration_s"},
    )


def test_every_kind_of_test_alone_and_on_two_workers(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=WITH_TORCH + COUNTER + TESTS)
    result, document = ran(pytester, "--fxrace=explore")
    assert became(document) == EXPECTED
    result.assert_outcomes(passed=7, failed=8, skipped=1)
    findings = {one["fingerprint"]: one for one in document["findings"]}
    assert {one["tier"] for one in findings.values()} == {"T0"}
    deadlock = next(one for one in document["tests"] if "deadlock" in one["test"])
    assert "deadlock" in findings[deadlock["findings"][0]]["symptoms"][0]
    crash = next(one for one in document["tests"] if "crashes" in one["test"])
    assert "SIGABRT" in json.dumps(findings[crash["findings"][0]]["symptoms"])
    spread, again = ran(pytester, "--fxrace=explore", "-n", "2", own_process=True)
    spread.assert_outcomes(passed=7, failed=8, skipped=1)
    assert told(again) == told(document)
    tokens = {one["fingerprint"]: one["token"] for one in again["findings"]}
    assert tokens == {one["fingerprint"]: one["token"] for one in document["findings"]}
    _replays(pytester, {k: one for k, one in findings.items() if one["token"]})


def _replays(pytester: pytest.Pytester, findings: dict[str, Any]) -> None:
    """Each token, given to the whole file, is played by its own test and fails it the same way."""
    for fingerprint, finding in list(findings.items())[:2]:
        result, document = ran(pytester, "--fxrace-replay", finding["token"])
        played = [one for one in document["tests"] if one["mode"] == "replay"]
        assert [one["findings"] for one in played] == [[fingerprint]]
        assert played[0]["test"] in finding["trials"]
        assert finding["token"] == document["findings"][0]["token"]
        assert result.parseoutcomes()["failed"] == 1
