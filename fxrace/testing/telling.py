"""A finding as a failing test shows it: title, cause, two short stacks, and how to replay it.

Longer texts (all frames, the issue to paste) are what ``fxrace explore`` and its report are for.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from fxrace.core.baseline import Comparison, sighted_in
from fxrace.records.document import FindingRow
from fxrace.records.finding import Frame, Side
from fxrace.records.testing import Became, PytestDocument
from fxrace.render.view.stacks import foreign, shown_path
from fxrace.render.view.words import safe

_OURS = "/fxrace/testing/"
FRAMES, LINE, LONGEST = 4, 400, 8000


def replay_line(nodeid: str, token: str, options: Sequence[str] = ()) -> str:
    """The command that plays this schedule again; without a token, the one that looks again."""
    again = f"--fxrace-replay {token}" if token else "--fxrace=explore"
    return shlex.join(["pytest", nodeid, *options]) + f" {again}"


def told(rows: Iterable[FindingRow]) -> str:
    """All of these, for the terminal."""
    return safe("\n\n".join("\n".join(_lines(row)) for row in rows), LONGEST)


def _lines(row: FindingRow) -> list[str]:
    names = ", ".join(filter(None, (row.hazard or "uncatalogued", row.fingerprint)))
    lines = [f"fxrace {row.tier.value}: {row.title} ({names})"]
    lines += [f"  seen as: {symptom}" for symptom in row.symptoms[:3]]
    for side in row.sides[:2]:
        lines += _side(side)
    if row.remedy:
        lines.append(f"  remedy: {row.remedy}")
    seen = row.reliability
    if seen.n:
        lines.append(f"  showed in {seen.k} of {seen.n} runs of its schedule")
    return [*lines, f"  replay: {row.replay}"]


def _side(side: Side) -> list[str]:
    head = f"  {side.thread}" + (f", in {side.region}" if side.region else "")
    return [f"{head}: {side.access}", *(f"    {_frame(one)}" for one in short(side.stack))]


def short(stack: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """The user's last two frames and the innermost ones."""
    stack = tuple(frame for frame in stack if _OURS not in frame.file.replace("\\", "/"))
    own = [at for at, frame in enumerate(stack) if not foreign(frame)][-2:]
    rest = range(len(stack) - (FRAMES - len(own)), len(stack))
    return tuple(stack[at] for at in sorted({*own, *rest}) if at >= 0)


def _frame(frame: Frame) -> str:
    return f"{shown_path(frame.file)}:{frame.line} {frame.function}"


def summary(document: PytestDocument, against: Comparison | None) -> list[str]:
    """The lines below the dots: counts, then each cause once, then what changed."""
    tests, findings = document.tests, document.findings
    counts = {one: sum(test.became is one for test in tests) for one in Became}
    schedules = sum(test.schedules for test in tests)
    known = {fingerprint for test in tests for fingerprint in test.known}
    new = sum(row.fingerprint not in known for row in findings)
    lines = [
        f"{len(findings)} cause{'s' * (len(findings) != 1)} ({new} new) in {len(tests)} "
        f"test{'s' * (len(tests) != 1)}, {schedules} schedules, seed {document.seed}"
    ]
    if counts[Became.NOTHING]:
        lines.append(f"nothing can be said of {counts[Became.NOTHING]}; -rs tells why")
    for row in findings:
        mark = "known" if row.fingerprint in known else row.tier.value
        lines.append(f"{mark} {row.fingerprint} {row.title[:160]}")
        lines.append(f"   {row.replay}")
    if against is not None:
        for what in ("new", "fixed", "broken"):
            lines += [
                f"{what}: {one.fingerprint} {one.title[:160]} {', '.join(sighted_in(one))}".rstrip()
                for one in getattr(against, what)
            ]
        lines.append(f"known: {len(against.known)}")
    return [safe(line, LINE) for line in lines]


def annotation(path: str, line: int, row: FindingRow) -> str:
    """One error as GitHub shows it beside the code."""
    title = _escaped(f"race: {row.hazard or row.fingerprint}").replace(",", "%2C")
    where = f"file={path},line={line},title={title.replace(':', '%3A')}"
    return f"::error {where}::{_escaped(safe(f'{row.title} -- {row.replay}', LINE))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
