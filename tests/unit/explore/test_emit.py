"""Emitted scripts: they compile, they fit, they name no fxrace, and they reproduce (or do not)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fxrace.launch.script_forks import ScriptForks
from fxrace.probe.explore import verify
from fxrace.probe.explore.choices import Stop
from fxrace.probe.explore.collisions import of_difference
from fxrace.probe.explore.emit import CannotEmit, Collision, Shows, length, placed, script
from fxrace.probe.explore.places import Place
from fxrace.probe.explore.sources import Source, read, source_of
from fxrace.probe.operations import names

pytest.importorskip("torch")

TRACE, CALL = "symbolic_trace", "compile_warm_eager"


def test_a_point_without_a_place_is_refused_by_name() -> None:
    with pytest.raises(CannotEmit, match="compile_lock:acquire#1"):
        placed([Stop(0, "compile_lock:acquire#1", 1)])
    with pytest.raises(CannotEmit, match="two threads"):
        placed([Stop(2, "trace:enter#1", 1)])


def test_the_source_of_an_operation_without_what_is_ours() -> None:
    text = '''"""Help."""
from __future__ import annotations
from typing import Any
import sys
import torch
from fxrace.probe.operations import Operation
from torch.fx import wrap, symbolic_trace
LIMIT: int = 3
class Module:
    """Docs."""
def prepare() -> Any:
    """Makes one."""
    return [Module(), LIMIT]
def run(subject: Any) -> Any:
    first = subject[0]
    return symbolic_trace(first)
operation = Operation(run=run)
'''
    source = read("x", text, "a")
    assert source.imports == (
        "import sys",
        "import torch",
        "from torch.fx import wrap, symbolic_trace",
    )
    assert source.prepare == "prepare_a()" and source.run == "run_a"
    assert source.body == (
        "LIMIT_a = 3",
        "class Module_a:",
        "    pass",
        "def prepare_a():",
        "    return [Module_a(), LIMIT_a]",
        "def run_a(subject):",
        "    first = subject[0]",
        "    return symbolic_trace(first)",
    )
    assert "prepare_a = lambda: [Module_a(), LIMIT_a]" in source.tight
    assert "def run_a(subject):" in source.tight


def test_an_operation_of_the_users_own_is_imported() -> None:
    source = source_of("mine:pipeline.step", "b")
    assert source.imports == ("import mine",)
    assert source.run == "(lambda _: mine.pipeline.step())"


@pytest.mark.parametrize("name", names())
def test_every_operation_makes_a_script_that_compiles(name: str) -> None:
    collision = Collision(
        title="t",
        a=source_of(name, "a"),
        b=source_of(TRACE, "b"),
        start="A",
        stops=placed([Stop(0, "torch/fx/graph.py:Graph.lint", 1)]),
        shows=Shows.RAISED,
    )
    for shows in Shows:
        one = replace(collision, shows=shows, attribute="torch.fx._symbolic_trace:CURRENT_PATCHER")
        text = script(one)
        tree = ast.parse(text)
        modules = {
            alias.name.split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        } | {
            (node.module or "").split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
        }
        assert modules - {"torch", "numpy"} <= set(sys.stdlib_module_names)


def difference(**more: object) -> dict[str, object]:
    return {
        "a": TRACE,
        "b": CALL,
        "wrong": "b",
        "error": {"type": "RuntimeError"},
        "symptom": "",
        "point": "torch/fx/graph.py:Graph.create_node",
        "b_point": "",
        "state": "fx.tracing_flag",
        **more,
    }


@pytest.fixture(scope="module")
def forks() -> Iterator[ScriptForks]:
    """Scripts are offered after a run in an interpreter of its own; all others here take forks."""
    with ScriptForks(Path(sys.executable)) as found:
        if not found.usable:
            pytest.skip("this interpreter has threads after importing torch, so no fork of it")
        yield found


def exit_of(text: str, folder: Path, forks: ScriptForks) -> int | None:
    file = folder / "repro.py"
    file.write_text(text)
    return forks.run(file, timeout_s=120, give_up=lambda: False).status


SCRIPTS = [
    pytest.param(
        difference(b="module_call", point="torch/fx/_symbolic_trace.py:Tracer.call_module"),
        difference(b="module_call", a="module_call", point="torch/fx/graph.py:Graph.lint"),
        id="one stop: a plain module call beside a trace",
    ),
    pytest.param(
        difference(b=TRACE, point="trace:inside#1", b_point="trace:inside#1"),
        difference(b=TRACE, point="trace:inside#1"),
        id="two stops: two traces that do not nest",
    ),
    pytest.param(
        difference(
            b=TRACE,
            wrong="process",
            error=None,
            state="nn.module_call",
            point="A at nn.module_call:write#1 > B at fx.patcher:write#1",
        ),
        difference(
            b=TRACE,
            wrong="process",
            error=None,
            state="nn.module_call",
            point="A at nn.module_call:write#2",
        ),
        id="two writes: what is left behind",
    ),
    pytest.param(
        difference(
            a="observe_module_class",
            b=TRACE,
            wrong="a",
            error=None,
            point="B at nn.module_call:write#1",
        ),
        difference(
            a="observe_module_class",
            b=TRACE,
            wrong="a",
            error=None,
            point="B at fx.tracing_flag:write#1",
        ),
        id="another result, in the thread that is not stopped",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("red", "green"), SCRIPTS)
def test_it_reproduces_at_its_stops_and_not_elsewhere(
    red, green, tmp_path: Path, forks: ScriptForks
) -> None:
    text = script(of_difference(red))
    assert exit_of(text, tmp_path, forks) == 66
    assert exit_of(script(of_difference(green)), tmp_path, forks) == 0
    assert length(text) <= 40


@pytest.mark.slow
def test_it_is_offered_only_with_what_was_seen_of_it(tmp_path: Path, forks: ScriptForks) -> None:
    def quickly(text: str) -> bool:
        return exit_of(text, tmp_path, forks) == verify.REPRODUCED

    collision = of_difference(
        difference(b="module_call", point="torch/fx/_symbolic_trace.py:Tracer.call_module")
    )
    found = verify.offered(collision, times=3, quickly=quickly)
    assert found is not None
    assert (found.k, found.n) == (3, 3)
    assert "Reproduced 3/3 on torch " in found.text
    assert length(found.text) <= 40


def test_what_never_reproduces_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_header", lambda k, n, python: "")
    monkeypatch.setattr(verify, "reproduces", lambda text, python: False)
    assert verify.offered(of_difference(difference()), times=2) is None


def test_a_visit_that_is_off_by_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_header", lambda k, n, python: "")
    monkeypatch.setattr(
        verify, "reproduces", lambda text, python: '"Graph.create_node", 2]' in text
    )
    found = verify.offered(of_difference(difference()), times=2)
    assert found is not None and found.k == 2


@pytest.mark.slow
def test_a_lock_that_both_want_is_no_hang_and_a_hang_is_one(
    tmp_path: Path, forks: ScriptForks
) -> None:
    """A stops with a lock in hand; B waits for it; A goes on after its bounded wait."""
    body = (
        "import threading",
        "LOCK = threading.Lock()",
        "def stop(): pass",
        "def work(keep):",
        "    LOCK.acquire()",
        "    stop()",
        "    if not keep: LOCK.release()",
    )

    def side(keep: bool) -> Source:
        return Source(name="x", imports=(), body=body, tight=body, prepare=str(keep), run="work")

    def text(keep: bool) -> str:
        place = Place(event="call", module="__main__", name="stop")
        collision = Collision(
            title="t",
            a=side(keep),
            b=side(keep),
            start="A",
            stops=(("A", place),),
            shows=Shows.HUNG,
        )
        return script(collision).replace("wait([a, b], 60)", "wait([a, b], 8)")

    assert exit_of(text(keep=False), tmp_path, forks) == 0
    assert exit_of(text(keep=True), tmp_path, forks) == 66


def test_what_has_no_state_or_place_cannot_be_emitted() -> None:
    with pytest.raises(CannotEmit):
        of_difference(difference(wrong="quiescent", state="no.such", error=None))
    with pytest.raises(CannotEmit):
        of_difference(difference(point="", b_point=""))
