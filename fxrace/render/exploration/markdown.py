"""One cause as an issue that can be pasted upstream.

Title, versions, the script, expected and actual, cause, State, both stacks, workaround: what
maintainers ask for first. Text from a trial is fenced, so that nothing in it becomes markup.
"""

from __future__ import annotations

from fxrace.records.document import FindingRow
from fxrace.records.environment import Environment
from fxrace.records.finding import Frame, Side
from fxrace.render.view import words
from fxrace.render.view.markdown import fenced
from fxrace.render.view.stacks import shown_path

FRAMES = 14


def render(finding: FindingRow, environment: Environment, script: str | None) -> str:
    """The whole issue. ``script`` is the standalone reproducer, None where there is none."""
    parts = (
        f"# {words.one_line(finding.title, 200)}",
        _told(finding),
        _script(script),
        "## Expected\n\nThe same result as when the two run one after the other.",
        f"## Actual\n\n{fenced(finding.symptoms[:8])}",
        _state(finding),
        "## Both threads\n\n" + "\n\n".join(_side(side) for side in finding.sides),
        _workaround(finding),
        _environment(environment),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _told(finding: FindingRow) -> str:
    known = (
        f"Known as `{finding.hazard}`." if finding.hazard else "No public report is known to us."
    )
    rate = f" Replayed {words.rate(finding.reliability)}." if finding.reliability.n else ""
    return f"{known}{rate} Fingerprint `{finding.fingerprint}`."


def _script(script: str | None) -> str:
    if script is None:
        return ""
    head = "## Reproducer\n\nExits 66 when it reproduces, 0 when not."
    return f"{head}\n\n```python\n{script.rstrip()}\n```"


def _state(finding: FindingRow) -> str:
    if finding.state is None:
        return ""
    value = finding.value
    seen = (("before", value.before), ("during", value.during), ("after", value.after))
    rows = [f"{when:<6} {words.one_line(text, 300)}" for when, text in seen if text]
    return f"## State\n\n`{words.one_line(finding.state, 200)}`" + (
        f"\n\n{fenced(rows)}" if rows else ""
    )


def _side(side: Side) -> str:
    held = ", ".join(side.locks_held) or "none"
    head = f"{words.one_line(side.thread, 80)}: {words.one_line(side.access, 200)}; locks: {held}"
    return f"{words.one_line(head, 400)}\n\n{fenced(map(_frame, side.stack[-FRAMES:]))}"


def _frame(frame: Frame) -> str:
    return f"{shown_path(frame.file)}:{frame.line} in {frame.function}"


def _workaround(finding: FindingRow) -> str:
    if not finding.remedy:
        return ""
    return f"## Workaround\n\n{words.one_line(finding.remedy, 800)}"


def _environment(environment: Environment) -> str:
    rows = (
        f"torch {environment.torch}",
        f"Python {environment.python} ({environment.implementation}, "
        f"GIL {'on' if environment.gil else 'off'})",
        environment.platform,
    )
    return f"## Environment\n\n{fenced(rows)}"
