"""Where the time goes: which trials are told, what of them, and what they come to."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from fxrace.core.bottleneck import Cause, bottleneck
from fxrace.records.document import SweepDocument, TrialRow
from fxrace.records.outcome import DrafterSpeed
from fxrace.records.verdict import Verdict
from fxrace.render import html, md, text
from fxrace.render.view import pace as view
from fxrace.render.view.pace import CONFIGURATIONS, DRAFTERS, Wait, conclusion, pace
from tests.unit.render import documents
from tests.unit.render.test_formats import Page

LOCKS = tuple(f"lock{n}" for n in range(12))


def trial(lock: str, number: int, speed: float = 900.0, **changes: Any) -> TrialRow:
    """A clean trial; ``pressure``, ``drafters`` and ``gil_share`` may be given."""
    knobs = {"locking": lock, "pressure": changes.pop("pressure", "none")}
    given = {"drafters": changes.pop("drafters", documents.drafters(2)),
             "gil_share": changes.pop("gil_share", None)}  # fmt: skip
    told = replace(documents.throughput(speed), **given)
    return documents.trial(knobs, number, Verdict.CLEAN, throughput=told, **changes)


def of(*rows: TrialRow) -> SweepDocument:
    axes = {"locking": LOCKS, "pressure": ("none", "hold")}
    return documents.document(list(rows), axes=axes)


def test_the_trial_of_median_speed_stands_for_its_configuration() -> None:
    speeds = [700.0, 900.0, 800.0, 9000.0]
    found = pace(of(*(trial("lock0", n, speed, repeat=n) for n, speed in enumerate(speeds))))
    assert {line.digest for line in found.lines} == {f"{2:016x}"}
    assert [line.speed.drafter for line in found.lines] == [0, 1]


def test_a_trial_under_pressure_tells_only_where_no_other_does() -> None:
    calm, pressed = trial("lock0", 1, 800.0), trial("lock0", 2, 700.0, pressure="hold")
    assert {line.digest for line in pace(of(calm, pressed)).lines} == {calm.digest}
    assert {line.digest for line in pace(of(pressed)).lines} == {pressed.digest}


def test_the_fastest_come_first_and_the_others_are_counted() -> None:
    rows = [trial(lock, n, 1000.0 + n) for n, lock in enumerate(LOCKS)]
    rows[-1] = replace(rows[-1], verdict=Verdict.RAISED)  # survived nothing, however fast
    found = pace(of(*rows))
    told = list(dict.fromkeys(line.digest for line in found.lines))
    assert told == [row.digest for row in rows[-2 : -2 - CONFIGURATIONS : -1]]
    assert found.more == len(LOCKS) - 1 - CONFIGURATIONS
    assert pace(of(*rows[:3])).more == 0


def test_endless_drafters_are_counted_too() -> None:
    found = pace(of(trial("lock0", 1, drafters=documents.drafters(DRAFTERS + 5))))
    assert (len(found.lines), found.left_out) == (DRAFTERS, 5)


MOST = {(0.61, 0.2): Wait.FEATURES, (0.1, 0.5): Wait.LOCKS, (0.49, 0.49): Wait.NONE}


def waiting(queue: float, lock: float) -> tuple[DrafterSpeed, ...]:
    return (replace(documents.drafters(1)[0], queue_wait=queue, lock_wait=lock),)


def test_what_takes_most_of_a_drafters_time_is_marked() -> None:
    document = of(
        *(trial(LOCKS[n], n, 900.0 - n, drafters=waiting(*shares)) for n, shares in enumerate(MOST))
    )
    assert [line.most for line in pace(document).lines] == list(MOST.values())
    shown = html.render(document)
    assert re.findall(r'<td class="wait most" data-value="([^"]*)"', shown) == ["0.61", "0.5"]
    assert ">GIL<" not in shown


def test_the_interpreter_lock_has_a_column_only_where_it_was_sampled() -> None:
    plain, sampled = trial("lock0", 1), trial("lock1", 2, gil_share={"drafter-0": 0.25})
    assert not pace(of(plain)).gil
    assert ">GIL<" in html.render(of(plain, sampled))
    shares = [(line.digest, line.gil) for line in pace(of(plain, sampled)).lines]
    first, second = plain.digest, sampled.digest
    assert shares == [(first, None), (first, None), (second, 0.25), (second, 0.0)]


def test_every_cause_has_a_sentence_and_a_word() -> None:
    told = {view._told(replace(bottleneck(documents.drafters(1)), cause=one)) for one in Cause}
    assert len(told) == len(Cause) == len(set(view._SHORT.values()))


def test_the_sentence_is_where_the_counts_are() -> None:
    fast = tuple(replace(one, queue_wait=0.61) for one in documents.drafters(2))
    document = of(trial("lock0", 1, 900.0, drafters=fast), trial("lock1", 2, 800.0))
    told = conclusion(document)
    assert "features 61\u00a0%" in told and "targets" in told
    assert pace(document).told.startswith(told)
    flat = [" ".join(render(document).split()) for render in (text.render, md.render)]
    assert all(told.replace("\u00a0", " ") in " ".join(one.split()) for one in flat)


def test_what_is_not_on_record_is_said_and_nothing_else() -> None:
    old = of(trial("lock0", 1, drafters=()))
    failed = of(replace(trial("lock0", 1), verdict=Verdict.RAISED))
    silent = documents.document(
        [documents.trial({"locking": "none"}, 1, Verdict.CLEAN, throughput=None)]
    )
    told = [pace(document) for document in (old, failed, silent)]
    assert len({one.told for one in told}) == 3
    assert not any(one.lines or one.more for one in told)
    assert not any(map(conclusion, (old, failed, silent)))
    assert "pace-table" not in Page(html.render(old)).ids
    assert "pace-table" in Page(html.render(of(trial("lock0", 1)))).ids
