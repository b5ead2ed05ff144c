"""A run as JUnit XML, as Jenkins and its kin read it: a case per configuration or per pair.

The surprise: XML cannot carry most control characters, not even escaped, so those that a message
may hold are replaced before they reach the writer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from xml.etree import ElementTree as xml

from fxrace.records.document import FindingRow
from fxrace.records.exploration import ExploreDocument
from fxrace.render.view import words
from fxrace.render.view.cases import Case, Document, Result, cases, headline

SYMPTOMS, FINDINGS = 5, 5
_UNFIT = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENT = {
    Result.FAILED: "failure",
    Result.BROKEN: "error",
    Result.SUPPRESSED: "skipped",
    Result.UNTOLD: "skipped",
}


def render(document: Document) -> str:
    """One suite with one case per cell or pair; suppressed and untold ones are skipped."""
    every = cases(document)
    verb = "explore" if isinstance(document, ExploreDocument) else "sweep"
    name = f"fxrace.{verb}"
    counts = Counter(case.result for case in every)
    total = {
        "tests": str(len(every)),
        "failures": str(counts[Result.FAILED]),
        "errors": str(counts[Result.BROKEN]),
        "time": _time(sum(case.seconds for case in every)),
    }
    root = xml.Element("testsuites", {"name": name, **total})
    skipped = str(counts[Result.SUPPRESSED] + counts[Result.UNTOLD])
    suite = xml.SubElement(root, "testsuite", {"name": name, **total, "skipped": skipped})
    _properties(suite, document)
    for case in every:
        _case(suite, case, name)
    xml.SubElement(suite, "system-out").text = fit(headline(document), 2000)
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, "unicode") + "\n"


def fit(text: str, limit: int) -> str:
    """Text that XML can carry, not longer than about ``limit``."""
    return _UNFIT.sub("\ufffd", words.safe(text, limit))


def _properties(suite: xml.Element, document: Document) -> None:
    where = document.environment
    given = {"run": document.run, "torch": where.torch, "python": where.python,
             "platform": where.platform, "fxrace": where.fxrace}  # fmt: skip
    holder = xml.SubElement(suite, "properties")
    for name, value in given.items():
        xml.SubElement(holder, "property", {"name": name, "value": fit(value, 200)})


def _case(suite: xml.Element, case: Case, name: str) -> None:
    place = {"name": fit(case.name, 300), "classname": name, "time": _time(case.seconds)}
    element = xml.SubElement(suite, "testcase", place)
    if case.result is Result.PASSED:
        return
    told = f"suppressed: {case.told}" if case.result is Result.SUPPRESSED else case.told
    tiers = sorted({row.tier.value for row in case.findings})
    problem = xml.SubElement(
        element,
        _ELEMENT[case.result],
        {"type": " ".join(tiers) or case.result.value, "message": fit(_first(case, told), 500)},
    )
    problem.text = fit("\n".join(_lines(case)), 20_000)


def _first(case: Case, told: str) -> str:
    worst = case.findings[0].title if case.findings else next(iter(case.symptoms), "")
    return f"{told}; {words.one_line(worst, 300)}" if worst else told


def _lines(case: Case) -> Iterator[str]:
    for row in case.findings[:FINDINGS]:
        yield from _finding(row)
    if len(case.findings) > FINDINGS:
        yield f"... and {words.count(len(case.findings) - FINDINGS, 'more finding')}"
    for symptom in case.symptoms[:SYMPTOMS]:
        yield words.safe(symptom, 1000)


def _finding(row: FindingRow) -> Iterator[str]:
    yield f"{row.tier.value} {words.one_line(row.title, 300)}"
    yield f"  fingerprint {words.one_line(row.fingerprint, 60)}, hazard {words.hazard(row.hazard)}"
    if row.suppressed is not None:
        yield f"  suppressed: {words.one_line(row.suppressed, 300)}"
    if row.replay:
        yield f"  again: {words.one_line(row.replay, 400)}"


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"
