"""From what an experiment measured to what is said of a claim. Pure: values in, verdicts out.

An experiment is believed only when it can say both things: each of its controls, where the answer
is known, must have come out right, and one of them must have said the opposite of what was
measured. The surprise: a claim whose experiments disagree is no failure. It DEPENDS, and the
reason says on what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fxrace.records.claims import (
    Answer,
    ClaimRow,
    ControlRow,
    ExperimentRow,
    Ruling,
    SummaryRow,
    Values,
)
from fxrace.records.event import Trace
from fxrace.records.outcome import Ending, Stop

#: A value of this name that is False: the threads could not be brought into their positions.
FORCED = "forced"
#: A value of this name: the device cannot run the experiment, and why.
SKIPPED = "skipped"
REASON_KEPT = 300
_SIDES = (Answer.TRUE, Answer.FALSE)
_EVENT = "measured"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """``test`` says whether the values make the claim true; the two reasons are format strings
    over the values.
    """

    test: Callable[[Values], bool]
    true: str
    false: str

    def __call__(self, values: Values) -> Ruling:
        """TRUE or FALSE with its reason; INCONCLUSIVE where the values do not allow either."""
        if values.get(FORCED) is False:
            return _unknown("the threads could not be brought into the positions it needs")
        try:
            holds = self.test(values)
            reason = (self.true if holds else self.false).format(**values)
        except (KeyError, TypeError) as lacking:
            return _unknown(f"the record lacks {lacking}")
        return Ruling(answer=Answer.TRUE if holds else Answer.FALSE, reason=reason)


def reading(trace: Trace, ending: Ending) -> Values | str:
    """What a trial measured, or why it measured nothing, in a clause."""
    if (event := trace.last(_EVENT)) is not None:
        return dict(event.data["values"])
    if (event := trace.last("raised")) is not None:
        error = event.data["error"]
        root = (error, *error["causes"])[-1]
        line = (str(root["message"]).splitlines() or [""])[0]
        return f"it ended with {root['type']}: {line}"[:REASON_KEPT]
    if (event := trace.last("broken")) is not None:
        return f"it could not be loaded: {event.data['reason']}"[:REASON_KEPT]
    if ending.stop is Stop.SIGNALLED:
        return f"its process died of signal {ending.code}"
    return f"it measured nothing ({ending.stop.value})"


def experiment(
    *,
    id: str,
    when: str,
    rule: Rule,
    measured: Values | str,
    controls: Mapping[Answer, Values | str],
) -> ExperimentRow:
    """Judge one experiment. A reading that is text is the reason why there are no values."""
    ruling = _ruled(rule, measured)
    rows = tuple(_control(says, rule, reading) for says, reading in controls.items())
    skipped = measured.get(SKIPPED) if not isinstance(measured, str) else None
    if skipped is not None:
        ruling, rows = _unknown(f"not on this device: {skipped}"), ()
    elif ruling.answer in _SIDES:
        ruling = _doubt(ruling, rows) or ruling
    return ExperimentRow(
        id=id,
        when=when,
        answer=ruling.answer,
        reason=ruling.reason,
        values={} if isinstance(measured, str) else measured,
        controls=rows,
        applies=skipped is None,
    )


def claim(rows: Sequence[ExperimentRow], depends_on: str) -> Ruling:
    """The verdict over a claim's experiments on one torch.

    Two experiments that disagree settle it whatever the others say; a doubtful one leaves an
    otherwise unanimous claim open.
    """
    counted = [row for row in rows if row.applies]
    by = {answer: [row for row in counted if row.answer is answer] for answer in Answer}
    if by[Answer.TRUE] and by[Answer.FALSE]:
        return Ruling(answer=Answer.DEPENDS, reason=f"on {depends_on}: {_told(by)}")
    if open_ones := by[Answer.INCONCLUSIVE]:
        first = open_ones[0]
        return _unknown(f"{first.when}: {first.reason}")
    if not counted:
        return _unknown("no experiment can run on this device")
    return Ruling(answer=counted[0].answer, reason=_gist(counted))


def summary(rows: Sequence[ClaimRow]) -> tuple[SummaryRow, ...]:
    """One row per claim over several torch versions, in the order of the rows."""
    by: dict[str, list[ClaimRow]] = {}
    for row in rows:
        by.setdefault(row.id, []).append(row)
    return tuple(_over(of) for of in by.values())


def _over(rows: Sequence[ClaimRow]) -> SummaryRow:
    first = rows[0]
    settled = [row for row in rows if row.verdict is not Answer.INCONCLUSIVE]
    verdicts = list(dict.fromkeys(row.verdict for row in settled))
    if len(verdicts) == 1 and len(settled) == len(rows):
        last, alike = rows[-1], len({row.reason for row in rows}) == 1
        reason = last.reason if alike else f"on torch {_short(last)}: {last.reason}"
        ruling = Ruling(answer=verdicts[0], reason=reason)
    elif len(verdicts) > 1:
        told = "; ".join(
            f"{verdict.value} on {', '.join(_short(r) for r in settled if r.verdict is verdict)}"
            for verdict in verdicts
        )
        ruling = Ruling(answer=Answer.DEPENDS, reason=f"on the version of torch: {told}")
    else:
        open_one = next(row for row in rows if row.verdict is Answer.INCONCLUSIVE)
        ruling = _unknown(f"on {open_one.torch}: {open_one.reason}")
    return SummaryRow(
        id=first.id, statement=first.statement, verdict=ruling.answer, reason=ruling.reason
    )


def _short(row: ClaimRow) -> str:
    return row.torch.partition("+")[0]


def _ruled(rule: Rule, reading: Values | str) -> Ruling:
    return _unknown(reading) if isinstance(reading, str) else rule(reading)


def _control(says: Answer, rule: Rule, reading: Values | str) -> ControlRow:
    ruling = _ruled(rule, reading)
    return ControlRow(
        says=says,
        said=ruling.answer,
        reason=ruling.reason,
        values={} if isinstance(reading, str) else reading,
    )


def _doubt(ruling: Ruling, controls: Sequence[ControlRow]) -> Ruling | None:
    """Why the answer cannot be believed, or None."""
    for row in controls:
        if not row.fired:
            return _unknown(
                f"the control that must say {row.says.value} said {row.said.value} ({row.reason})"
            )
    if not any(row.says is not ruling.answer for row in controls):
        return _unknown(f"no control shows that it could say other than {ruling.answer.value}")
    return None


def _told(by: Mapping[Answer, Sequence[ExperimentRow]]) -> str:
    sides = (f"{side.value} {', '.join(row.when for row in by[side])}" for side in _SIDES)
    return "; ".join(sides)


def _gist(rows: Sequence[ExperimentRow]) -> str:
    """The first reason, and how many said so: a reader who wants more looks at the rows."""
    several = f" ({len(rows)} of {len(rows)} experiments)" if len(rows) > 1 else ""
    return f"{rows[0].reason}{several}"


def _unknown(reason: str) -> Ruling:
    return Ruling(answer=Answer.INCONCLUSIVE, reason=reason)
