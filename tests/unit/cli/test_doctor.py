"""``fxrace doctor``: what is in sight, what is not and why, under any interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fxrace.commands import doctor
from fxrace.core.states import STATES
from fxrace.errors import ExitCode, InterpreterUnusable
from fxrace.launch import examination
from fxrace.probe import discover
from fxrace.records import wire
from fxrace.records.doctor import DoctorDocument
from fxrace.records.state import Keeping

ROOT = Path(__file__).parents[3]


def fxrace(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fxrace", *arguments], cwd=ROOT, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip


@pytest.fixture(scope="module")
def ran() -> subprocess.CompletedProcess[str]:
    return fxrace("doctor", "--json")


def answer(**changed: Any) -> dict[str, Any]:
    environment = {
        "python": "3.11.7", "torch": "2.13.0", "implementation": "CPython", "platform": "Linux",
        "cpu_count": 2, "gpus": [], "gil": True, "executable": "/python", "problem": None,
    }  # fmt: skip
    rows = [{"name": s.name, "resolved": True, "expected": True, "reason": ""} for s in STATES]
    hooks = {"hooks.fx_trace": {"ok": True, "reason": ""}, "gpus": {"ok": False, "reason": "none"}}
    return {"environment": environment, "states": rows, "abilities": hooks, **changed}


def test_this_torch_is_examined_and_all_of_it_is_in_sight(
    ran: subprocess.CompletedProcess[str],
) -> None:
    assert ran.returncode == ExitCode.PASS, ran.stdout + ran.stderr
    plain = json.loads(ran.stdout)
    jsonschema.Draft202012Validator(wire.schema(DoctorDocument)).validate(plain)
    assert list(plain)[:2] == ["schema", "schema_version"]
    assert {row["name"] for row in plain["states"]} == {state.name for state in STATES}
    assert all(row["resolved"] or row["reason"] for row in plain["states"])
    assert sum(row["resolved"] for row in plain["states"]) >= 25
    assert {"fork", "py_spy", "faulthandler", "gpus", "hooks.fx_trace", "hooks.backward"} <= set(
        plain["abilities"]
    )
    assert all(one["ok"] or one["reason"] for one in plain["abilities"].values())


@pytest.mark.parametrize(
    ("changed", "blind"),
    [
        ({}, ()),
        ({"abilities": {"hooks.fx_trace": {"ok": False, "reason": "gone"}}}, ("hooks.fx_trace",)),
        ({"abilities": {"py_spy": {"ok": False, "reason": "refused"}}}, ()),
    ],
)
def test_blind_is_what_a_trial_would_be_blind_to(
    changed: dict[str, Any], blind: tuple[str, ...]
) -> None:
    assert doctor._document(answer(**changed)).blind == blind


@pytest.mark.parametrize(("expected", "blind"), [(True, True), (False, False)])
def test_a_state_that_this_torch_is_not_meant_to_have_is_no_blindness(
    monkeypatch: pytest.MonkeyPatch, expected: bool, blind: bool
) -> None:
    plain = answer()
    plain["states"][0] |= {"resolved": False, "expected": expected, "reason": "why"}
    monkeypatch.setattr(doctor, "examination", lambda *_, **__: plain)
    code = doctor.command.callback(discover=False, python=None, as_json=False)
    assert code == (ExitCode.INCONCLUSIVE if blind else ExitCode.PASS)


def test_what_is_discovered_is_joined_with_the_registry() -> None:
    rows = [
        {"attribute": STATES[0].attribute, "keeping": "restored", "operations": ["make_fx"]},
        {"attribute": "torch.fx:new", "keeping": "lasting", "operations": ["export"]},
    ]
    found = doctor._document(answer(discovered=rows)).discovered
    assert found is not None
    assert [row.registered for row in found] == [STATES[0].name, None]
    assert [row.keeping for row in found] == [Keeping.RESTORED, Keeping.LASTING]


def test_an_interpreter_without_torch_is_told_in_one_sentence(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.base_prefix}/bin/python3" -S -I "$@"\n')
    bare.chmod(0o755)
    ran = fxrace("doctor", "--python", str(bare))
    assert (ran.returncode, ran.stdout) == (ExitCode.USAGE, "")
    assert "has no torch" in ran.stderr


def test_an_interpreter_that_says_nothing_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = tmp_path / "python"
    silent.write_text("#!/bin/sh\nexec sleep 600\n")
    silent.chmod(0o755)
    monkeypatch.setattr(examination, "LIMIT_S", 0.2)
    with pytest.raises(InterpreterUnusable, match="did not say"):
        examination.examination(silent, discover=False)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    made = types.ModuleType("torch.fx.of_this_test")
    made.flag, made.count, made.kept, made.cache = False, 0, [], {}
    made.function = len
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


@pytest.mark.parametrize(
    ("inside", "after", "expected"),
    [
        ({"flag": True}, {"flag": False}, {"flag": "restored"}),
        ({"count": 1}, {}, {"count": "lasting"}),
        ({}, {"cache": {1: 2}}, {"cache": "lasting"}),
        ({"function": max}, {"function": len}, {}),
        ({}, {}, {}),
    ],
)
def test_discovery_tells_restored_from_lasting_and_leaves_code_out(
    module: types.ModuleType,
    inside: dict[str, Any],
    after: dict[str, Any],
    expected: dict[str, str],
) -> None:
    def operation(look: discover.Look) -> None:
        vars(module).update(inside)
        look()
        vars(module).update(after)

    found = dict(discover.changed_by(operation))
    ours = {k.partition(":")[2]: v for k, v in found.items() if k.startswith(module.__name__)}
    assert ours == expected


def test_discovery_sees_what_a_list_holds(module: types.ModuleType) -> None:
    def operation(look: discover.Look) -> None:
        module.kept.append(object())
        look()
        module.kept.pop()

    assert (f"{module.__name__}:kept", "restored") in set(discover.changed_by(operation))
