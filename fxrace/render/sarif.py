"""A run as SARIF 2.1.0: what code scanning dashboards take, with both threads as thread flows.

A rule is a hazard of the catalogue, or the detector's pattern where a finding is of none. Results
are matched over runs by the fingerprint. The surprise: a dashboard wants a file of the repository
for every result, so a finding without a stack points at the store that holds its evidence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fxrace
from fxrace.records.document import FindingRow
from fxrace.records.exploration import ExploreDocument
from fxrace.records.finding import Frame, Side, Tier
from fxrace.render.view import places, stacks, words
from fxrace.render.view.cases import Document, cases, headline, seen

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FINDINGS, SYMPTOMS, BLIND = 5_000, 10, 50
#: Characters of stacks in a whole log; dashboards take at most 10 MB, compressed.
STACKS = 4_000_000
STORE = "fxrace-out/fxrace.sqlite"
LEVELS: Mapping[Tier, str] = {
    Tier.FAILURE: "error",
    Tier.SILENT_WRONG: "error",
    Tier.LEAK: "error",
    Tier.RACE: "warning",
    Tier.NEAR_MISS: "note",
}
#: The name under which dashboards find a result again; its last part is the algorithm's version.
PRINT = "fxraceFingerprint/v1"
Plain = dict[str, Any]


def render(document: Document, *, root: Path | None = None) -> str:
    """One log with one run. ``root`` is the checkout that locations are relative to."""
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(document, root or Path.cwd())]}
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def _run(document: Document, root: Path) -> Plain:
    rules: dict[str, Plain] = {}
    for row in document.findings[:FINDINGS]:
        rules.setdefault(rule_of(row), _rule(row))
    verb = "explore" if isinstance(document, ExploreDocument) else "sweep"
    room = stacks.Room(STACKS)
    results = [_result(row, document, root, room) for row in document.findings[:FINDINGS]]
    numbers = {name: number for number, name in enumerate(rules)}
    for result in results:
        result["ruleIndex"] = numbers[result["ruleId"]]
    driver = {"name": "fxrace", "version": fxrace.__version__, "rules": list(rules.values())}
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"fxrace/{verb}/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": places.folder_uri(root)}},
        "invocations": [
            {
                "executionSuccessful": not document.interrupted,
                "toolExecutionNotifications": [
                    {"level": "warning", "message": {"text": f"blind: {told}"}}
                    for told in map(_blind, document.blind[:BLIND])
                ],
            }
        ],
        "results": results,
        "properties": _about(document),
    }


def rule_of(row: FindingRow) -> str:
    """The rule's id: the hazard, else the pattern of the detector."""
    return words.one_line(row.hazard or f"uncatalogued-{row.pattern or 'finding'}", 100)


def _rule(row: FindingRow) -> Plain:
    known = row.hazard is not None
    told = row.title if known else f"a finding of the {row.pattern} detector, of no known hazard"
    rule: Plain = {
        "id": rule_of(row),
        "shortDescription": _text(told, 300),
        "defaultConfiguration": {"level": LEVELS[row.tier]},
        "properties": {"tags": ["concurrency", "torch.compile"]},
    }
    if known and row.remedy:
        rule["help"] = _text(row.remedy, 1000)
    return rule


def _result(row: FindingRow, document: Document, root: Path, room: stacks.Room) -> Plain:
    where = places.place(row, root)
    location: Plain = {"artifactLocation": {"uri": STORE}} if where is None else _physical(where)
    result: Plain = {
        "ruleId": rule_of(row),
        "level": LEVELS[row.tier],
        "message": _text(_message(row, document), 2000),
        "partialFingerprints": {PRINT: words.one_line(row.fingerprint, 100)},
        "locations": [{"physicalLocation": location}],
        "properties": _facts(row),
    }
    flows = [_flow(side, root, room) for side in row.sides[:2] if side.stack]
    if flows:
        result["codeFlows"] = [{"threadFlows": flows}]
    if row.suppressed is not None:
        justification = words.safe(row.suppressed, 1000)
        result["suppressions"] = [{"kind": "external", "justification": justification}]
    return result


def _message(row: FindingRow, document: Document) -> str:
    sides = "; ".join(
        f"{words.one_line(side.thread, 80)} {words.one_line(side.access, 200)}"
        for side in row.sides[:2]
    )
    again = f" Again: {words.one_line(row.replay, 400)}" if row.replay else ""
    title = words.one_line(row.title, 400)
    return f"{title}. {sides}. Seen in {seen(row, document)}.{again}"


def _flow(side: Side, root: Path, room: stacks.Room) -> Plain:
    """One thread's stack as a thread flow, innermost last, the middle of a long one left out."""
    frames = room.fold(side.stack).every
    last = len(frames) - 1
    return {
        "id": words.one_line(side.thread, 80) or "thread",
        "message": _text(f"{side.region or 'no region'}: {side.access}", 300),
        "locations": [
            {
                "location": {
                    "physicalLocation": _physical(places.of(frame, root)),
                    "message": _text(frame.function, 200),
                },
                "importance": _importance(frame, innermost=number == last),
            }
            for number, frame in enumerate(frames)
        ],
    }


def _importance(frame: Frame, *, innermost: bool) -> str:
    if innermost:
        return "essential"
    return "unimportant" if stacks.foreign(frame) else "important"


def _physical(place: places.Place) -> Plain:
    artifact: Plain = {"uri": place.uri}
    if place.inside:
        artifact["uriBaseId"] = "SRCROOT"
    return {"artifactLocation": artifact, "region": {"startLine": place.line}}


def _facts(row: FindingRow) -> Plain:
    rate = row.reliability
    return {
        "tier": row.tier.value,
        "state": words.one_line(row.state, 200) if row.state else None,
        "hazard": words.one_line(row.hazard, 100) if row.hazard else None,
        "symptoms": [words.safe(text, 500) for text in row.symptoms[:SYMPTOMS]],
        "reliability": {"k": rate.k, "n": rate.n, "low": rate.low, "high": rate.high},
        "replay": words.one_line(row.replay, 400),
        "trials": len(row.trials),
    }


def _about(document: Document) -> Plain:
    counts: dict[str, int] = {}
    for case in cases(document):
        counts[case.result.value] = counts.get(case.result.value, 0) + 1
    where = document.environment
    return {
        "run": words.one_line(document.run, 100),
        "answer": words.safe(headline(document), 1000),
        "torch": words.one_line(where.torch, 100),
        "python": words.one_line(where.python, 100),
        "cases": counts,
    }


def _blind(pair: tuple[str, str]) -> str:
    return f"{words.one_line(pair[0], 100)}: {words.one_line(pair[1], 300)}"


def _text(text: str, limit: int) -> Plain:
    return {"text": words.safe(text, limit) or "no message"}
