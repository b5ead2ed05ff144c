"""A run as Markdown: for a job summary, a pull request or an issue, for sweeps and explorations.

What does not fit is counted, never cut in the middle: a job summary takes at most a megabyte and
a comment 65,536 characters, so a page of this keeps below 60,000 whatever the messages hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from fxrace.core.suppressions import suppression_text
from fxrace.records.document import FindingRow, SweepDocument
from fxrace.records.finding import Frame, Side
from fxrace.render.view import pace, stacks, words
from fxrace.render.view.cases import Case, Document, Result, cases, headline, seen, title
from fxrace.render.view.markdown import code, escaped, fenced, folded, table

CASES, FINDINGS, FRAMES, BLIND, MOST = 40, 20, 10, 10, 60_000
_SIGNS: Mapping[Result, str] = {
    Result.FAILED: "\u274c failed",
    Result.BROKEN: "\u26a0\ufe0f broken",
    Result.SUPPRESSED: "\U0001f507 suppressed",
    Result.UNTOLD: "\u2754 says nothing",
    Result.PASSED: "\u2705 passed",
}


def render(document: Document) -> str:
    """The whole page."""
    every = cases(document)
    parts = [f"## {escaped(title(document), 120)}", f"**{escaped(headline(document), 1000)}**"]
    if isinstance(document, SweepDocument):
        parts.append(escaped(pace.conclusion(document), 300))
    if every:
        parts.append(_cases(every))
    tail = [_blind(document), _environment(document)]
    left = MOST - sum(map(len, (*parts, *tail)))
    shown = 0
    for row in document.findings[:FINDINGS]:
        told = "\n\n".join(_finding(row, document))
        left -= len(told)
        if left < 0:
            break
        parts.append(told)
        shown += 1
    more = len(document.findings) - shown
    if more:
        parts.append(f"... and {words.count(more, 'more finding')} in the report.")
    return "\n\n".join(part for part in (*parts, *tail) if part) + "\n"


def _cases(every: tuple[Case, ...]) -> str:
    """The worst first; a configuration that passed needs a line least."""
    order = list(_SIGNS)
    ranked = sorted(every, key=lambda case: order.index(case.result))
    counts = ", ".join(
        f"{number} {sign}"
        for result, sign in _SIGNS.items()
        if (number := sum(case.result is result for case in every))
    )
    names = tuple(every[0].figures)
    rows = [
        (code(case.name, 200), _SIGNS[case.result], escaped(case.told, 120), *case.figures.values())
        for case in ranked[:CASES]
    ]
    more = len(every) - len(rows)
    tail = f"\n\n... and {more:,} more." if more else ""
    shown = table(("what", "result", "came out", *names), rows)
    return f"{counts}\n\n{shown}{tail}"


def _finding(row: FindingRow, document: Document) -> Iterator[str]:
    yield f"### {row.tier.value} {escaped(row.title, 300)}"
    if row.suppressed is not None:
        yield f"**Suppressed:** {escaped(row.suppressed, 300)}"
    yield "\n".join(f"- {line}" for line in _facts(row, document))
    yield fenced(row.symptoms[:5])
    value = row.value
    changes = (("before", value.before), ("during", value.during), ("after", value.after))
    if row.state and any(text for _, text in changes):
        yield fenced(f"{when:<6} {text}" for when, text in changes if text)
    yield folded("Both threads", "\n\n".join(map(_side, row.sides[:2])) or "No stack was taken.")
    if row.replay:
        yield f"Again:\n\n{fenced([row.replay], 'sh')}"
    if row.suppressed is None:
        text = suppression_text(row)
        yield folded("Suppress it", fenced(text.splitlines(), "toml"))


def _facts(row: FindingRow, document: Document) -> Iterator[str]:
    yield f"fingerprint {code(row.fingerprint, 60)}, seen in {seen(row, document)}"
    if row.reliability.n:
        yield f"shows in {words.rate(row.reliability)} where it shows at all"
    yield f"hazard: {escaped(words.hazard(row.hazard), 120)}"
    if row.state:
        yield f"State: {code(row.state, 200)}"
    if row.remedy:
        yield f"remedy: {escaped(row.remedy, 500)}"
    if row.repro:
        yield f"script: {code(row.repro, 300)}"
    if row.references:
        yield f"references: {', '.join(escaped(one, 100) for one in islice(row.references, 5))}"


def _side(side: Side) -> str:
    held = ", ".join(side.locks_held[:5]) or "none"
    head = f"{side.thread[:80]}, in {side.region[:60] or 'no region'}: {side.access[:200]}"
    frames = stacks.folded(side.stack, FRAMES).every
    return f"{escaped(f'{head}; locks held: {held}', 500)}\n\n{fenced(map(_frame, frames))}"


def _frame(frame: Frame) -> str:
    return f"{stacks.shown_path(frame.file)}:{frame.line} in {frame.function}"


def _blind(document: Document) -> str:
    if not document.blind:
        return ""
    lines = [
        f"- {escaped(what, 60)}: {escaped(reason, 200)}" for what, reason in document.blind[:BLIND]
    ]
    more = len(document.blind) - len(lines)
    return "### Out of sight\n\n" + "\n".join([*lines, *([f"- and {more} more"] if more else [])])


def _environment(document: Document) -> str:
    where = document.environment
    gpus = ", ".join(where.gpus) or "no GPU"
    return folded(
        "Environment",
        fenced((
            f"torch {where.torch}, Python {where.python} ({where.implementation}, GIL "
            f"{'on' if where.gil else 'off'}), fxrace {where.fxrace}",
            f"{where.platform}, {where.cpu_count} processors, {gpus}",
        )),
    )  # fmt: skip
