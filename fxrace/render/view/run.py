"""What ``fxrace run`` says about a program: each finding with the stacks of both threads.

The stacks stand one under the other, because the question behind every public report was what
the *other* thread did at that moment. The user's own frames are shown and the innermost one.
"""

from __future__ import annotations

from collections.abc import Iterator

from fxrace.records.document import FindingRow, RunDocument
from fxrace.records.finding import Frame, Side
from fxrace.render.view import stacks, words

SHOWN, FRAMES = 10, 8


def render(document: RunDocument) -> str:
    """The words, without any prefix."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: RunDocument) -> Iterator[str]:
    if document.torch is None:
        yield "the program never imported torch: nothing was watched"
        yield from _blind(document)
        return
    for row in document.findings[:SHOWN]:
        yield from _finding(row, document.runs)
    if len(document.findings) > SHOWN:
        yield f"... and {words.count(len(document.findings) - SHOWN, 'more finding')}"
    yield from _blind(document)
    kinds = ", ".join(f"{number} {kind}" for kind, number in document.regions.items())
    yield (
        f"torch {document.torch}: {words.count(len(document.findings), 'finding')}; "
        f"regions: {kinds or 'none'}; {words.count(document.overlaps, 'overlap')}"
    )
    yield f"record: {document.record}"


def _blind(document: RunDocument) -> Iterator[str]:
    for what, reason in document.blind[:SHOWN]:
        yield f"blind: {words.one_line(what, 60)}: {words.one_line(reason, 200)}"


def _finding(row: FindingRow, runs: int) -> Iterator[str]:
    yield f"{row.tier.value} {words.one_line(row.title, 300)}"
    yield f"   hazard: {words.hazard(row.hazard)}"
    if row.state:
        yield f"   state: {words.one_line(row.state, 100)}"
    for symptom in row.symptoms[:3]:
        yield f"   {words.one_line(symptom, 200)}"
    for side in row.sides[:2]:
        yield f"   thread {words.one_line(side.thread, 60)}, {_did(side)}"
        for frame in _shown(side.stack):
            place = words.one_line(f"{stacks.shown_path(frame.file)}:{frame.line}", 200)
            yield f"      {place} in {words.one_line(frame.function, 80)}"
    if runs > 1:
        yield f"   seen in {words.rate(row.reliability)} runs"
    if row.remedy:
        yield f"   remedy: {words.one_line(row.remedy, 300)}"
    if row.hazard:
        yield f"   alone: fxrace repro {words.one_line(row.hazard, 100)}"
    yield f"   again: {words.one_line(row.replay, 400)}"


def _did(side: Side) -> str:
    held = f", holding {', '.join(side.locks_held)}" if side.locks_held else ""
    return words.one_line(f"in a {side.region}: {side.access}{held}", 200)


def _shown(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """The user's innermost frames, and the frame where the thread stood."""
    own = stacks.folded(frames).own[-FRAMES:]
    return own if not frames or frames[-1] in own else (*own, frames[-1])
