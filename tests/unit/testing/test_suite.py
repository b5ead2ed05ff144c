"""The suite's verdicts against a baseline: known, fixed upstream and regressed are three things."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from fxrace.commands.gate import command as gate
from fxrace.core.baseline import EMPTY, compare, sighted_in, updated
from fxrace.core.looks import look_at
from fxrace.errors import ExitCode
from fxrace.records import wire
from fxrace.records.exploration import PairVerdict
from fxrace.records.repro import Judgement, ReproRow, TwinRow
from fxrace.records.testing import Became, JudgedTest, PytestDocument
from fxrace.records.verdict import Verdict
from fxrace.testing.suite import as_of, quick, scripts, shipped
from tests.unit.testing.test_judging import ROW

OLD, NEW = "2.13.0+cpu", "2.16.0.dev20270301+cpu"


def row(slug: str, judgement: Judgement, torch: str = OLD) -> ReproRow:
    shows = judgement is Judgement.REPRODUCED
    racy = TwinRow(verdict=Verdict.RAISED if shows else Verdict.CLEAN, k=1, n=1)
    clean = TwinRow(verdict=Verdict.CLEAN, k=1, n=1)
    return ReproRow(
        slug=slug, python="python", torch=torch, racy=racy, guarded=clean,
        judgement=judgement, reason="",
    )  # fmt: skip


def document(*rows: ReproRow, torch: str = OLD) -> PytestDocument:
    return PytestDocument(
        schema="fxrace.pytest", schema_version=1, torch=torch, mode="suite", seed=0,
        complete=True, tests=(), findings=(), results=rows,
    )  # fmt: skip


BASELINE = updated(
    EMPTY,
    look_at(
        document(row("stays", Judgement.REPRODUCED), row("goes", Judgement.REPRODUCED),
                 row("comes", Judgement.NOT_APPLICABLE))
    ),
)  # fmt: skip


@pytest.mark.parametrize("torch", [OLD, NEW])
def test_known_fixed_upstream_and_regressed_are_told_apart(torch: str) -> None:
    now = document(
        row("stays", Judgement.REPRODUCED, torch), row("goes", Judgement.NOT_REPRODUCED, torch),
        row("comes", Judgement.REPRODUCED, torch), torch=torch,
    )  # fmt: skip
    told = compare(as_of(BASELINE, torch), look_at(now))
    assert [entry.fingerprint for entry in told.known] == ["repro:stays"]
    assert [entry.fingerprint for entry in told.fixed] == ["repro:goes"]
    assert [entry.fingerprint for entry in told.new] == ["repro:comes"]


def test_the_same_torch_again_is_known_throughout() -> None:
    told = compare(BASELINE, look_at(document(
        row("stays", Judgement.REPRODUCED), row("goes", Judgement.REPRODUCED),
        row("comes", Judgement.NOT_APPLICABLE),
    )))  # fmt: skip
    assert (told.new, told.fixed, len(told.known)) == ((), (), 2)


def test_the_gate_reads_what_the_suite_writes(tmp_path: Path) -> None:
    (tmp_path / "known.json").write_text(wire.pretty(BASELINE))
    written = {
        "same": document(row("stays", Judgement.REPRODUCED), row("goes", Judgement.REPRODUCED)),
        "back": document(row("comes", Judgement.REPRODUCED)),
    }
    told = {}
    for name, one in written.items():
        (tmp_path / f"{name}.json").write_text(wire.pretty(one))
        words = [f"{tmp_path}/{name}.json", f"--baseline={tmp_path}/known.json", "--json"]
        ran = CliRunner().invoke(gate, words, standalone_mode=False)
        told[name] = (ran.return_value, json.loads(ran.stdout)["blocking"])
    assert told == {"same": (ExitCode.PASS, []), "back": (ExitCode.FINDINGS, ["repro:comes"])}


def test_a_torch_without_a_baseline_gets_that_of_the_newest_older_one(tmp_path: Path) -> None:
    assert shipped(NEW, tmp_path) is None
    for version in ("2.9", "2.13", "2.17"):
        kept = replace(BASELINE, entries=BASELINE.entries[: 1 + (version == "2.13")])
        (tmp_path / f"torch-{version}.json").write_text(wire.pretty(kept))
    shipped.cache_clear()
    found = shipped(NEW, tmp_path)
    assert found is not None
    assert len(found.entries) == 2
    assert {seen.place.torch for entry in found.entries for seen in entry.seen} == {NEW}


def test_what_is_shipped_for_this_torch_names_hazards_that_there_are() -> None:
    found = shipped("2.13.0+cpu")
    assert found is not None
    slugs = {f"repro:{hazard.slug}" for hazard in scripts()}
    listed = {entry.fingerprint for entry in found.entries if entry.tier is None}
    assert listed <= slugs
    assert len(listed) > len(slugs) // 2
    pairs = {f"test_pair[{a}-{b}]" for a, b in quick()}
    tests = {what for entry in found.entries for what in sighted_in(entry)}
    assert tests < pairs
    assert all(sighted_in(entry) for entry in found.entries if entry.tier is not None)


def test_each_test_of_the_suite_settles_for_itself_what_is_gone() -> None:
    """A part of the suite says nothing of the rest; a part of any other test suite says nothing."""
    whole = suite_of({"test_pair[a-b]": ("x", "y"), "test_pair[b-a]": ("x",)})
    baseline = updated(EMPTY, look_at(whole))
    part = suite_of({"test_pair[a-b]": ("y",)})
    told = compare(baseline, look_at(part))
    assert [entry.fingerprint for entry in told.known] == ["y"]
    assert [(one.fingerprint, sighted_in(one)) for one in told.fixed] == [
        ("x", ("test_pair[a-b]",))
    ]
    assert compare(baseline, look_at(replace(part, mode="explore", complete=False))).fixed == ()
    unclear = replace(part.tests[0], verdict=PairVerdict.INCONCLUSIVE)
    assert compare(baseline, look_at(replace(part, tests=(unclear,)))).fixed == ()
    after = updated(baseline, look_at(part))
    assert {one.fingerprint: sighted_in(one) for one in after.entries} == {
        "x": ("test_pair[b-a]",),
        "y": ("test_pair[a-b]",),
    }


def suite_of(shown: dict[str, tuple[str, ...]]) -> PytestDocument:
    """A document of the suite: test -> the causes that it shows."""
    prints = sorted({one for each in shown.values() for one in each})
    return PytestDocument(
        schema="fxrace.pytest", schema_version=1, torch="2.13.0", mode="suite", seed=0,
        complete=False,
        tests=tuple(
            JudgedTest(
                test=f"suite.py::{name}", mode="suite", verdict=PairVerdict.FINDING,
                became=Became.KNOWN, reason="", findings=found,
            )
            for name, found in shown.items()
        ),
        findings=tuple(replace(ROW, fingerprint=one) for one in prints),
    )  # fmt: skip
