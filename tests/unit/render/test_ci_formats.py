"""SARIF, JUnit, GitHub's commands and Markdown: valid by their own schemas, whatever they hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import jsonschema
import pytest

from fxrace.records.document import SweepDocument
from fxrace.records.exploration import ExploreDocument, PairVerdict
from fxrace.records.finding import Frame, Side, Tier
from fxrace.records.verdict import Verdict
from fxrace.render import github, junit, md, sarif
from fxrace.render.view.cases import Result, cases, seen
from tests.unit.render import documents, explorations
from tests.unit.render.test_formats import HOSTILE, Huge, hostile

SCHEMAS = Path(__file__).parents[2] / "schemas"
CHECKOUT = Path("/home/me/project")
Document = SweepDocument | ExploreDocument


def own_frame(file: str = f"{CHECKOUT}/src/train.py") -> tuple[Side, Side]:
    stack = (Frame(file=file, line=41, function="train"), *documents.STACK_A[3:])
    return (
        Side(thread="drafter-1", region="trace", access="meets fx.patcher", stack=stack),
        Side(thread="drafter-0", region="trace", access="holds fx.patcher"),
    )


@cache
def hostile_exploration() -> ExploreDocument:
    huge = Huge(HOSTILE + "\x00\ufffe\n::error::no\r\n" + "y" * 10_000_000)
    row = explorations.cause(
        1, ("0" * 16,), fingerprint=HOSTILE, title=huge, state=HOSTILE, hazard=HOSTILE,
        sides=own_frame(HOSTILE), symptoms=(huge,) * 3, remedy=huge, references=(HOSTILE,),
        replay=HOSTILE,
    )  # fmt: skip
    pair = explorations.pair(
        0, "a", "b", PairVerdict.FINDING, findings=(HOSTILE,), reason=huge, differences=1
    )
    document = explorations.exploration()
    return replace(document, pairs=(pair,), findings=(row,), blind=((huge, huge),), run=HOSTILE)


@cache
def hostile_sweep() -> SweepDocument:
    document = hostile(5)
    return replace(document, findings=document.findings[:2])


DOCUMENTS: dict[str, Callable[[], Document]] = {
    "sweep": lambda: documents.sweep(repeats=1),
    "exploration": explorations.exploration,
    "no trials": lambda: documents.document([]),
    "one broken": lambda: documents.document(
        [documents.trial({"locking": "none"}, 1, Verdict.BROKEN, symptom="no")], axes={}
    ),
    "no stack": lambda: sole(documents.finding(("1" * 16,), sides=(), repro=None)),
    "hostile sweep": hostile_sweep,
    "hostile exploration": hostile_exploration,
}


def sole(row: Any) -> SweepDocument:
    trial = documents.trial(
        {"locking": "none"}, 1, Verdict.RAISED, digest=row.trials[0], findings=(row.fingerprint,)
    )
    return documents.document([trial], axes={"locking": ("none",)}, findings=(row,))


@pytest.fixture(params=DOCUMENTS)
def document(request: pytest.FixtureRequest) -> Document:
    return DOCUMENTS[request.param]()


@cache
def sarif_schema() -> jsonschema.Draft4Validator:
    text = (SCHEMAS / "sarif-2.1.0-rtm.5.json").read_text()
    return jsonschema.Draft4Validator(json.loads(text))


def test_sarif_is_valid(document: Document) -> None:
    text = sarif.render(document, root=CHECKOUT)
    log = json.loads(text)
    sarif_schema().validate(log)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    for rule in run["tool"]["driver"]["rules"]:  # what code scanning asks for beyond the schema
        assert all(rule[name]["text"] for name in ("shortDescription", "fullDescription", "help"))
    assert len(run["results"]) == len(document.findings)
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["locations"]
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", result["message"]["text"])
    assert len(text) < 10_000_000


def test_sarif_refuses_what_is_none() -> None:
    log = json.loads(sarif.render(documents.sweep(repeats=1)))
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert not sarif_schema().is_valid(log)


def test_sarif_carries_the_fingerprint_and_both_threads() -> None:
    row = documents.finding(("1" * 16,), hazard="fx-patcher-assert", sides=own_frame())
    (run,) = json.loads(sarif.render(sole(row), root=CHECKOUT))["runs"]
    (result,) = run["results"]
    assert result["partialFingerprints"] == {sarif.PRINT: row.fingerprint}
    assert (result["ruleId"], result["level"]) == ("fx-patcher-assert", "error")
    where = result["locations"][0]["physicalLocation"]
    assert where["artifactLocation"] == {"uri": "src/train.py", "uriBaseId": "SRCROOT"}
    assert where["region"] == {"startLine": 41}
    (flow,) = result["codeFlows"][0]["threadFlows"]
    frames = [one["location"]["physicalLocation"]["artifactLocation"] for one in flow["locations"]]
    assert len(frames) == 1 + len(documents.STACK_A[3:])
    assert unquote(frames[-1]["uri"]) == f"file://{documents.STACK_A[-1].file}"


@pytest.mark.parametrize(("tier", "level"), sarif.LEVELS.items())
def test_levels_by_tier(tier: Tier, level: str) -> None:
    text = sarif.render(sole(documents.finding(("1" * 16,), tier=tier)))
    assert json.loads(text)["runs"][0]["results"][0]["level"] == level
    assert github.render(sole(documents.finding(("1" * 16,), tier=tier))).startswith(
        f"::{github.LEVELS[tier]} "
    )


def test_junit_is_valid(document: Document) -> None:
    xmlschema = pytest.importorskip("xmlschema", reason="pip install xmlschema")
    xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate(junit.render(document))


def test_junit_counts_what_it_holds(document: Document) -> None:
    text = junit.render(document)
    root = ElementTree.fromstring(text)
    (suite,) = root
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.attrib[name]) == len(suite.findall(f"testcase/{tag}")), name
    assert int(suite.attrib["tests"]) == len(suite.findall("testcase")) == len(cases(document))
    assert len(text) < 2_000_000


def test_a_schema_that_refuses() -> None:
    xmlschema = pytest.importorskip("xmlschema", reason="pip install xmlschema")
    text = junit.render(documents.sweep(repeats=1)).replace(' tests="', ' checks="')
    assert not xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").is_valid(text)


COMMAND = re.compile(r"::(error|warning|notice) ([^:\n]*)::([^\n]*)")


def test_every_line_for_github_is_a_command_of_ours(document: Document) -> None:
    lines = github.render(document, root=CHECKOUT).splitlines()
    assert len(lines) == min(len(document.findings), github.FINDINGS) + 1 + (
        len(document.findings) > github.FINDINGS
    )
    for line in lines:
        match = COMMAND.fullmatch(line)
        assert match is not None
        names = [pair.partition("=")[0] for pair in match[2].split(",")]
        assert set(names) <= {"file", "line", "title"}
        assert len(line) < 10_000


def test_github_points_into_the_checkout_only() -> None:
    inside = sole(documents.finding(("1" * 16,), sides=own_frame()))
    assert "file=src/train.py,line=41," in github.render(inside, root=CHECKOUT)
    assert "file=" not in github.render(inside, root=Path("/elsewhere"))
    climbing = sole(documents.finding(("1" * 16,), sides=own_frame(f"{CHECKOUT}/../../etc/passwd")))
    assert "file=" not in github.render(climbing, root=CHECKOUT)


def outside_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)


def test_markdown_stays_small_and_closed(document: Document) -> None:
    text = md.render(document)
    assert len(text) < 65_536
    assert text.count("```") % 2 == 0
    assert text.count("<details>") == text.count("</details>")
    tags = set(re.findall(r"(?<!\\)</?([a-z!]+)", outside_code(text)))
    assert tags <= {"details", "summary"}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", text)


def test_markdown_holds_what_is_triaged_with() -> None:
    row = documents.finding(("1" * 16,), hazard="fx-patcher-assert")
    text = md.render(sole(row))
    wanted = (row.fingerprint, row.replay, "fx-patcher-assert", "[[suppress]]", "1 of 1")
    assert [one for one in wanted if one not in text] == []


def test_a_name_in_a_message_calls_nobody() -> None:
    text = md.render(sole(documents.finding(("1" * 16,), title="@octocat", remedy="@octocat")))
    assert "@octocat" in text
    assert "@octocat" not in outside_code(text)


def test_suppressed_findings_are_shown_as_such() -> None:
    row = documents.finding(("1" * 16,), suppressed="known upstream")
    document = sole(row)
    assert [case.result for case in cases(document)] == [Result.SUPPRESSED]
    (result,) = json.loads(sarif.render(document))["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "external", "justification": "known upstream"}]
    suite = ElementTree.fromstring(junit.render(document))[0]
    assert (suite.attrib["failures"], suite.attrib["skipped"]) == ("0", "1")
    assert github.render(document).startswith("::notice ")
    assert "known upstream" in md.render(document)


def test_a_failure_that_no_finding_explains_is_never_suppressed() -> None:
    row = documents.finding(("1" * 16,), suppressed="known upstream")
    other = documents.trial({"locking": "none"}, 2, Verdict.WRONG, repeat=1)
    document = sole(row)
    trials = (*document.trials, other)
    assert [case.result for case in cases(replace(document, trials=trials))] == [Result.FAILED]
    near = replace(row, tier=Tier.NEAR_MISS)
    assert [case.result for case in cases(replace(document, findings=(near,)))] == [Result.FAILED]


def test_reference_runs_are_counted_apart() -> None:
    document = documents.sweep(repeats=1)
    references, own = documents.document([]).trials, document.trials[2:]
    both = documents.finding((references[0].digest, own[0].digest, own[1].digest))
    assert seen(both, document) == f"2 of {len(own)} trials and 1 of 2 reference runs"
    assert seen(documents.finding((references[1].digest,)), document) == "1 of 2 reference runs"
    assert seen(documents.finding((own[0].digest,)), document) == f"1 of {len(own)} trials"
