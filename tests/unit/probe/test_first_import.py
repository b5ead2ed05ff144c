"""Hooks wait for what they are about: a program that compiles nothing loads no compiler."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from fxrace.launch.record_file import read_trace
from fxrace.probe.first_import import when_imported

ROOT = Path(__file__).parents[3]
HEAVY = "torch._dynamo", "torch._inductor", "torch.export._trace", "sympy.physics"
PROGRAM = """
import sys
from pathlib import Path
from fxrace.probe.lookout import Lookout
from fxrace.probe.own_record import OwnRecord
import torch
lookout = Lookout(OwnRecord(Path(sys.argv[1])))
lookout.begin()
torch.fx.symbolic_trace(torch.nn.ReLU())
x = torch.ones(2, requires_grad=True)
(x * 2).sum().backward()
print(*[name for name in {heavy} if name in sys.modules])
if "compile" in sys.argv:
    torch.compile(lambda y: (y * 3).sum(), backend="aot_eager")(x).backward()
if "leak" in sys.argv:
    torch.compiler._is_exporting_flag = True
    import torch._dynamo.compiled_autograd as late
    late.compiled_autograd_enabled = True
lookout.end()
print(len(sys.meta_path), sum("fxrace" in type(one).__module__ for one in sys.meta_path))
"""


def ran(folder: Path, *words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(heavy=HEAVY), str(folder), *words], cwd=ROOT,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_program_that_only_traces_loads_no_compiler_and_is_seen(tmp_path: Path) -> None:
    loaded, finders = ran(tmp_path)
    assert loaded == ""
    assert finders.split()[1] == "0", "nothing waits on after the end"
    trace = read_trace(tmp_path / "events.jsonl")
    assert [event.data["region"] for event in trace.of("region")] == ["trace", "trace"]
    assert list(trace.of("blind", "leak")) == []


def test_what_a_compile_loads_is_hooked_before_it_runs(tmp_path: Path) -> None:
    ran(tmp_path, "compile")
    trace = read_trace(tmp_path / "events.jsonl")
    kinds = {event.data["region"] for event in trace.of("region")}
    assert {"compile", "aot", "make_fx", "trace", "lazy_backward"} <= kinds
    assert [event.data["ok"] for event in trace.of("compile")] == [True]
    assert list(trace.of("blind", "leak")) == []


def test_leaks_are_told_of_modules_that_came_late_too(tmp_path: Path) -> None:
    ran(tmp_path, "leak")
    trace = read_trace(tmp_path / "events.jsonl")
    leaks = {event.data["state"]: event.data["before"] for event in trace.of("leak")}
    assert leaks == {"compiler.is_exporting": "False", "compiled_autograd.enabled": "False"}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "comes_late.py").write_text("value = 1")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "comes_late", raising=False)
    return "comes_late"


def test_several_may_wait_for_one_module_and_each_acts_once(module: str) -> None:
    seen: list[tuple[str, int]] = []
    for name in "ab":
        when_imported(
            module, lambda name=name: seen.append((name, sys.modules[module].value))
        )  # fmt: skip
    importlib.import_module(module)
    importlib.reload(sys.modules[module])
    assert sorted(seen) == [("a", 1), ("b", 1)]


def test_who_waits_no_more_does_not_act(module: str) -> None:
    seen: list[int] = []
    cancel = when_imported(module, lambda: seen.append(1))
    cancel()
    cancel()
    importlib.import_module(module)
    assert seen == []
