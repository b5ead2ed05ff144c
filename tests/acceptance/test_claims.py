"""``fxrace claims``: the verdicts on this torch, their controls, and what the command prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fxrace.errors import ExitCode
from fxrace.probe.claims import known
from fxrace.records import wire
from fxrace.records.claims import ClaimsDocument
from fxrace.render.claims import markdown, text
from tests.acceptance.sweeping import fxrace

pytestmark = pytest.mark.slow

TRUE, FALSE, DEPENDS = "TRUE", "FALSE", "DEPENDS"


def expected(torch: str) -> dict[str, dict[str, str]]:
    """What ``experiments`` must say on a CPU: the flag is per thread from 2.14 on, config from 2.12
    on, and 2.13 hides the flag while Dynamo compiles.
    """
    version = tuple(int(part) for part in torch.split(".")[:2])
    flag = TRUE if version < (2, 14) else FALSE
    return {
        "C1": {"main-first": FALSE, "worker-first": FALSE, "each-wraps": FALSE},
        "C2": {
            "same": FALSE, "grad-mode": TRUE, "new-shape": TRUE, "backward": TRUE,
            "threads": TRUE, "settings": TRUE if version >= (2, 12) else FALSE,
        },
        "C3": {
            "new-shape": TRUE if version < (2, 13) else FALSE, "lazy-backward": flag,
            "uncompiled": TRUE,
        },
        "C4": {"alone": FALSE, "uncompiled": FALSE, "compiled": FALSE},
        "C5": {
            "known-shape": TRUE, "new-shape": FALSE, "uncompiled": FALSE, "overlapping": FALSE,
        },
        "C6": {"flag": flag, "patcher": TRUE, "module-call": TRUE, "make-fx-tracer": TRUE},
        "C7": {
            "trace-call": flag, "flex-call": flag, "trace-module": TRUE, "two-traces": TRUE,
            "two-flexes": TRUE, "compile-trace": TRUE,
        },
        "C8": {"forward": TRUE, "training": TRUE},
        "C9": {"loss": FALSE, "compiled-loss": FALSE, "layers": FALSE},
    }  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("claims")


@pytest.fixture(scope="module")
def plain(folder: Path) -> dict[str, Any]:
    ran = fxrace("claims", "--device", "cpu", "--json", cwd=folder)
    assert ran.status == ExitCode.PASS, ran.stdout + ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_every_experiment_says_what_this_torch_is_known_for(plain: dict[str, Any]) -> None:
    said = {
        row["id"]: {one["id"]: one["answer"] for one in row["experiments"] if one["applies"]}
        for row in plain["claims"]
    }
    assert said == expected(plain["claims"][0]["torch"])


def test_the_verdicts_follow(plain: dict[str, Any]) -> None:
    for row in plain["claims"]:
        answers = {one["answer"] for one in row["experiments"] if one["applies"]}
        assert row["verdict"] == (answers.pop() if len(answers) == 1 else DEPENDS), row["id"]
        assert (row["depends_on"] is None) == (row["verdict"] != DEPENDS)


def test_every_control_fired_both_ways(plain: dict[str, Any]) -> None:
    for row in plain["claims"]:
        for one in row["experiments"]:
            if one["applies"]:
                said = [control["said"] for control in one["controls"]]
                assert said == [TRUE, FALSE], (row["id"], one["id"])


def test_the_document_is_as_published(plain: dict[str, Any], folder: Path) -> None:
    jsonschema.Draft202012Validator(wire.schema(ClaimsDocument)).validate(plain)
    assert list(plain)[:2] == ["schema", "schema_version"]
    assert json.loads((folder / "fxrace-out" / "claims.json").read_text()) == plain


def test_it_can_be_read(plain: dict[str, Any], folder: Path) -> None:
    document = wire.decode(ClaimsDocument, json.dumps(plain))
    section = markdown.render(document)
    assert section == (folder / "fxrace-out" / "claims.md").read_text()
    shown = text.render(document)
    for claim in known().values():
        assert claim.statement in section
        assert claim.statement in shown
