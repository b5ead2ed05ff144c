"""Letters, sentences and figures: how a verdict, a rate or a hostile message is spelled.

Each verdict has a letter, because colour alone is lost on many readers and on every log file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fxrace.records.finding import Tier
from fxrace.records.tally import Spread, Tally
from fxrace.records.verdict import Verdict

LETTERS: Mapping[Verdict, str] = {
    Verdict.CLEAN: "C",
    Verdict.RAISED: "R",
    Verdict.WRONG: "W",
    Verdict.HUNG: "H",
    Verdict.CRASHED: "X",
    Verdict.SKIPPED: "S",
    Verdict.BLIND: "?",
    Verdict.BROKEN: "!",
}
PENDING = "."

MEANINGS: Mapping[Verdict, str] = {
    Verdict.CLEAN: "finished, and the result equals the single-threaded reference",
    Verdict.RAISED: "a thread ended with an exception that the reference does not raise",
    Verdict.WRONG: "finished without an exception, but with a wrong result",
    Verdict.HUNG: "showed no sign of life and was stopped",
    Verdict.CRASHED: "the process died of a signal or exited by itself",
    Verdict.SKIPPED: "cannot run here; says nothing about the program",
    Verdict.BLIND: "ran, but the evidence could not be taken; says nothing",
    Verdict.BROKEN: "the part under test could not be loaded; says nothing",
}

TIERS: Mapping[Tier, str] = {
    Tier.FAILURE: "failure: fails where the single-threaded reference passes",
    Tier.SILENT_WRONG: "silent wrong result",
    Tier.LEAK: "leak: state left off its baseline with nothing running",
    Tier.RACE: "race: two unordered accesses to one state",
    Tier.NEAR_MISS: "near miss: two borrowers of one state came close",
}

#: Worst first; a cell is shown by the first of these that occurred in it.
SEVERITY = (
    Verdict.CRASHED, Verdict.HUNG, Verdict.WRONG, Verdict.RAISED, Verdict.CLEAN,
    Verdict.BROKEN, Verdict.BLIND, Verdict.SKIPPED,
)  # fmt: skip

_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)", re.S)
# Control characters, and the bidirectional overrides that make text read as something else.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")


def worst(verdicts: Mapping[str, int]) -> Verdict | None:
    """The gravest verdict with a count above zero, or None when nothing has run."""
    return next((v for v in SEVERITY if verdicts.get(v.value, 0)), None)


def safe(text: str, limit: int) -> str:
    """Text from a trial made fit to show: no terminal codes, no hidden characters, not endless."""
    head = text[: 2 * limit].encode("utf-8", "backslashreplace").decode()
    head = _HIDDEN.sub("\ufffd", _TERMINAL.sub("", head.replace("\r\n", "\n")))
    shown = head[:limit]
    left = len(text) - len(shown) if len(text) > 2 * limit else len(head) - len(shown)
    return f"{shown} \u2026 [{left:,} more characters]" if left > 0 else shown


def one_line(text: str, limit: int) -> str:
    """``safe`` text with line breaks folded into spaces."""
    return " ".join(safe(text, limit).split())


def figure(value: float) -> str:
    """Three significant digits at most: 950, 2.8k, 1.34M."""
    for scale, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale * 0.9995:
            return f"{value / scale:.3g}{suffix}"
    return f"{value:.3g}"


def percent(share: float) -> str:
    """A share of 0..1 as whole per cent, one decimal below ten."""
    points = 100 * share
    return f"{points:.0f}" if points >= 9.95 or points < 0.05 else f"{points:.1f}"


def interval(tally: Tally) -> str:
    """The 95 % interval alone: ``12\u201377 %``."""
    return f"{percent(tally.low)}\u2013{percent(tally.high)}\u00a0%"


def rate(tally: Tally) -> str:
    """``2 of 5 (12\u201377 %)``: a share never travels without its counts."""
    return f"{tally.k} of {tally.n} ({interval(tally)})" if tally.n else "0 of 0"


def spread(value: Spread | None) -> str:
    """``2.8k (2.5k\u20133.1k)``; the median alone when there is one measurement."""
    if value is None:
        return "\u2013"
    if value.n < 2:
        return figure(value.median)
    return f"{figure(value.median)} ({figure(value.low)}\u2013{figure(value.high)})"


def seconds(value: float) -> str:
    """``0.4 s``, ``42 s``, ``3 min 5 s``, ``2 h 4 min``."""
    if value < 60:
        return f"{value:.1f} s" if value < 9.95 else f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (0 if hours else rest, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def milliseconds(value: float) -> str:
    """Three digits, the unit left to the heading: ``0.07``, ``12.3``, ``1,340``."""
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"


def hazard(slug: str | None) -> str:
    """What a finding is known as; one that is known as nothing is the most interesting kind."""
    return "uncatalogued: no known hazard has this pattern" if slug is None else one_line(slug, 100)


def size(count: int | None) -> str:
    """Bytes as MiB or GiB."""
    if count is None:
        return "\u2013"
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


def count(number: int, noun: str) -> str:
    """``1 trial``, ``3 trials``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
