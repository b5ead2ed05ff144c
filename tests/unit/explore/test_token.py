"""Tokens: round trips, lengths, damage, and replay with drift told at its first step."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fxrace.probe.explore import token
from fxrace.probe.explore.explorer import first_difference
from fxrace.probe.explore.played import Step
from fxrace.probe.explore.schedule import bare
from fxrace.probe.explore.strategies import Setting, load
from fxrace.probe.explore.token import Replay, TokenError
from tests.unit.explore.toys import counting

ABOUT = token.what("a x b", 2, "region", ["fx.patcher"])


def steps_of(made: tuple[int, ...]) -> list[Step]:
    """Steps of four threads, none of which ever ends, with these decisions."""
    steps, current = [], 0
    for number, decision in enumerate(made):
        others = [thread for thread in range(4) if thread != current]
        chosen = others[decision - 1] if decision else current
        steps.append(Step(runnable=(0, 1, 2, 3), chosen=chosen, current=current, at=f"p#{number}"))
        current = chosen
    return steps


def trimmed(made: tuple[int, ...]) -> tuple[int, ...]:
    while made and made[-1] == 0:
        made = made[:-1]
    return made


@given(st.lists(st.integers(0, 3), max_size=400).map(tuple))
def test_round_trip(made: tuple[int, ...]) -> None:
    try:
        text = token.written(ABOUT, steps_of(made))
    except TokenError:
        assume(False)
        return
    assert len(text) <= token.LONGEST
    found = token.matched(f" {text}\n", ABOUT)
    assert (found.about, found.made) == (ABOUT, trimmed(made))
    assert token.decisions(steps_of(made)) == made
    assert found.is_exact(steps_of(made))


@given(st.lists(st.integers(0, 1), max_size=24).map(tuple))
def test_every_schedule_of_24_choices_of_two_threads_fits(made: tuple[int, ...]) -> None:
    assert len(token.written(ABOUT, steps_of(made))) <= token.LONGEST


@given(st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 5000))
def test_four_switches_in_thousands_of_choices_fit(a, b, c, d) -> None:
    made = (0,) * a + (1,) + (0,) * b + (2,) + (0,) * c + (1,) + (0,) * d + (1,)
    text = token.written(ABOUT, steps_of(made))
    assert len(text) <= token.LONGEST
    assert token.read(text).made == made


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(TokenError, match="does not fit"):
        token.written(ABOUT, steps_of((0, 1) * 200))


@settings(max_examples=300)
@given(st.data())
def test_a_changed_character_is_noticed(data: st.DataObject) -> None:
    text = token.written(ABOUT, steps_of((0, 0, 1, 0, 1)))
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from("0123456789abcdefghjkmnpqrstvwxyz"))
    assume(text[at] != other)
    with pytest.raises(TokenError):
        token.matched(text[:at] + other + text[at + 1 :], ABOUT)


@pytest.mark.parametrize("text", ["", "fxr1", "fxr2:a:b:c", "fxr1:::", "hello"])
def test_what_is_no_token(text: str) -> None:
    with pytest.raises(TokenError):
        token.read(text)


def test_a_token_of_something_else_is_refused() -> None:
    text = token.written(ABOUT, steps_of((1,)))
    for other in (
        token.what("a x c", 2, "region", ["fx.patcher"]),
        token.what("a x b", 3, "region", ["fx.patcher"]),
        token.what("a x b", 2, "call", ["fx.patcher"]),
        token.what("a x b", 2, "region", ["fx.patcher", "fx.more"]),
    ):
        with pytest.raises(TokenError, match="other operations"):
            token.matched(text, other)


def test_a_thousand_replays_of_a_thousand() -> None:
    stage, current = bare()
    log: list[str] = []
    program = counting((4, 3), current, log)
    search = load("random").begin(Setting(points=(4, 3), seed=1))
    exact = 0
    for _ in range(40):
        chooser = search.propose()
        assert chooser is not None
        played = stage.play(program, chooser)
        text = token.written(ABOUT, played.steps)
        for _ in range(25):
            found = token.matched(text, ABOUT)
            again = stage.play(program, Replay(found.made))
            exact += first_difference(played.steps, again.steps) is None
            assert found.is_exact(again.steps)
    assert exact == 1000


def test_drift_is_told_at_the_first_step_that_differs() -> None:
    stage, current = bare()
    log: list[str] = []
    search = load("random").begin(Setting(points=(4, 3), seed=1))
    chooser = search.propose()
    assert chooser is not None
    played = stage.play(counting((4, 3), current, log), chooser)
    text = token.written(ABOUT, played.steps)
    again = stage.play(counting((4, 2), current, log), Replay(token.read(text).made))
    told = first_difference(played.steps, again.steps)
    assert told is not None
    number = int(told.split()[1].rstrip(":"))
    assert played.steps[:number] == again.steps[:number]
    assert played.steps[number : number + 1] != again.steps[number : number + 1]
    assert not token.read(text).is_exact(again.steps)
