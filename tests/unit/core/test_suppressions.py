"""What is suppressed, what no longer is, and files that cannot be meant."""

from __future__ import annotations

from datetime import date

import pytest

from fxrace.core import suppressions
from fxrace.core.states import STATES
from fxrace.errors import UsageError
from fxrace.records.suppression import Suppression
from tests.unit.render import documents

TODAY = date(2027, 3, 1)
FOUND = documents.finding(("1" * 16,), fingerprint="d553fff8e308", hazard="fx-patcher-assert")
HOSTILE = '"]]\n[[suppress]]\nfingerprint = "*"\x00\x1b[2J\x7f\udc80\u202e\\' + "y" * 200_000


def rule(**what: str) -> Suppression:
    return Suppression(reason="known upstream", **what)


@pytest.mark.parametrize(
    ("what", "holds"),
    [({"fingerprint": "d553fff8e308"}, True), ({"fingerprint": "d553"}, False),
     ({"hazard": "fx-patcher-assert"}, True), ({"hazard": "other"}, False),
     ({"state": str(FOUND.state)}, True), ({"state": "other"}, False),
     ({"hazard": "fx-patcher-assert", "state": "other"}, False)],
)  # fmt: skip
def test_a_rule_needs_all_it_names(what: dict[str, str], holds: bool) -> None:
    done = suppressions.apply([rule(**what)], [FOUND], today=TODAY)
    assert (FOUND.fingerprint in done.by) is holds
    assert bool(done.unused) is not holds


def test_a_state_by_either_of_its_names() -> None:
    state = STATES[0]
    found = documents.finding((), state=state.name)
    for name in (state.name, state.attribute):
        assert suppressions.matches(rule(state=name), found)
    assert not suppressions.matches(rule(state=STATES[1].attribute), found)


@pytest.mark.parametrize(("until", "holds"), [("2027-03-01", True), ("2027-02-28", False)])
def test_it_holds_until_the_end_of_its_last_day(until: str, holds: bool) -> None:
    done = suppressions.apply([rule(hazard=str(FOUND.hazard), until=until)], [FOUND], today=TODAY)
    assert (done.by == {FOUND.fingerprint: "known upstream"}) is holds
    assert bool(done.expired) is not holds
    assert done.unused == ()


def test_the_ready_made_text_works_once_a_reason_is_written() -> None:
    text = suppressions.suppression_text(FOUND)
    with pytest.raises(UsageError, match="without a reason"):
        suppressions.parse(text, name="file")
    whole = suppressions.suppression_text(FOUND, reason='we "wait" for 2.16')
    (read,) = suppressions.parse(whole, name="file")
    assert (read.fingerprint, read.reason) == (FOUND.fingerprint, 'we "wait" for 2.16')


def test_hostile_text_cannot_leave_its_place() -> None:
    found = documents.finding((), fingerprint=HOSTILE, title=HOSTILE)
    text = suppressions.suppression_text(found, reason="r\n[[suppress]]")
    (read,) = suppressions.parse(text, name="file")
    assert read.fingerprint == HOSTILE.replace("\udc80", "\\udc80")
    assert "\x1b" not in text
    assert "\u202e" not in text.splitlines()[1]


GOOD = 'hazard = "h"\nreason = "r"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [("[[suppress]]\nhazard = 'h'", "line 1: .* without a reason"),
     (f"# first\n[[suppress]]\n{GOOD}[[suppress]]\nreason = 'r'", "line 5: .*everything"),
     (f"[suppress]\n{GOOD}", "double brackets"),
     (f"[[suppress]]\n{GOOD}until = 'soon'", "no date"),
     (f"[[suppress]]\n{GOOD}cause = 'x'", "unknown key 'cause'"),
     (f"[[ignore]]\n{GOOD}", "unknown key 'ignore'"),
     ("[[suppress]]\nhazard = 7\nreason = 'r'", "hazard is no text"),
     ("{", "no TOML"),
     ("a = " + "[" * 100_000, "no TOML")],
)  # fmt: skip
def test_files_that_cannot_be_meant(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        suppressions.parse(text, name="rules.toml")


def test_dates_and_the_empty_file() -> None:
    text = f"[[suppress]]\n{GOOD}until = 2027-03-31\n[[suppress]]\n{GOOD}until = '2027-04-01'"
    assert [r.until for r in suppressions.parse(text, name="f")] == ["2027-03-31", "2027-04-01"]
    assert suppressions.parse("# nothing yet\n", name="f") == ()
