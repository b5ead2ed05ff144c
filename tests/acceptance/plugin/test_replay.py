"""A token is given to a whole file: its test plays it, others say nothing, errors stay errors."""

from __future__ import annotations

import pytest

from tests.acceptance.plugin.running import COUNTER, ran

pytest_plugins = "pytester"
pytestmark = pytest.mark.slow
TESTS = """

def test_its_second_call(fxrace, safe, counter):
    first = fxrace.explore(safe.add, threads=2, schedules=5)
    assert first.data["verdict"] == "safe"
    fxrace.explore(counter.add, counter.add)


def test_needs_what_it_returns(fxrace, safe):
    assert fxrace.explore(safe.add, threads=2, schedules=5).data["schedules"]


def test_expects_a_race(fxrace, counter):
    with pytest.raises(pytest.fail.Exception):
        fxrace.explore(counter.add, counter.add)


def test_calls_nothing(fxrace):
    pass


def test_wrong_before_it_calls(fxrace, safe):
    assert safe.value == 1
    fxrace.explore(safe.add, threads=2, schedules=5)


def test_wrong_and_calls_nothing(fxrace):
    {}["no such key"]
"""
WRONG = {"test_wrong_before_it_calls", "test_wrong_and_calls_nothing"}
MEANINGLESS = {"test_needs_what_it_returns", "test_expects_a_race", "test_calls_nothing"}


def outcomes(result: pytest.RunResult) -> dict[str, set[str]]:
    """``FAILED`` and the like -> names of tests, from the lines of ``-rA``."""
    told: dict[str, set[str]] = {}
    for line in result.outlines:
        word, _, rest = line.partition(" ")
        if word in ("PASSED", "FAILED", "SKIPPED") and "::" in rest:
            told.setdefault(word, set()).add(rest.partition("::")[2].split()[0])
    return told


def test_only_what_the_token_makes_meaningless_is_skipped(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=COUNTER + TESTS)
    result, _ = ran(pytester, "--fxrace=explore", "-rA")
    played = {"test_its_second_call"}
    assert outcomes(result) == {"PASSED": MEANINGLESS, "FAILED": WRONG | played}
    _, document = ran(pytester, "--fxrace=explore", "-k", "second_call")
    (finding,) = document["findings"]
    words = ("--fxrace-replay", finding["token"], "-rA", "--no-fold-skipped")
    result, document = ran(pytester, *words)
    assert outcomes(result) == {"SKIPPED": MEANINGLESS, "FAILED": WRONG | played}
    told = [(one["mode"], one["became"], one["findings"]) for one in document["tests"]]
    assert told == [("explore", "passed", []), ("replay", "failed", [finding["fingerprint"]])]
    some = "second_call or needs or wrong_and"
    result, document = ran(pytester, *words, "--fxrace-isolate=spawn", "-k", some)
    assert outcomes(result) == {
        "SKIPPED": {"test_needs_what_it_returns"},
        "FAILED": {"test_its_second_call", "test_wrong_and_calls_nothing"},
    }
    assert {one["test"].partition("::")[2] for one in document["tests"]} == played
