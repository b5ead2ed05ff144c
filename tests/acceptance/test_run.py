"""``fxrace run`` on racy programs and their fixed twins, and on programs that end in any way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.sweeping import Ran, arguments, environment, fxrace

pytestmark = pytest.mark.slow

PROGRAMS = Path(__file__).with_name("programs")


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """What must be said of a racy program, beside the stacks of two threads."""

    pattern: str
    state: str
    hazard: str


NAMED = {
    "server": Named(pattern="meeting", state="fx.tracing_flag", hazard="fx-flag-crash"),
    "overlapping_traces": Named(
        pattern="exception", state="fx.patcher", hazard="fx-patcher-assert"
    ),
    "eager_flex": Named(pattern="exception", state="fx.patcher", hazard="fx-patcher-assert"),
    "cold_pool": Named(
        pattern="recompile_limit", state="dynamo.cache_entries",
        hazard="dynamo-limit-exhausted-by-threads",
    ),
    "main_config": Named(
        pattern="config_divergence", state="dynamo.config_of_context",
        hazard="dynamo-config-not-inherited",
    ),
    "checkpoint_dropout": Named(
        pattern="checkpoint_rng", state="rng.cpu", hazard="checkpoint-rng-race"
    ),
}  # fmt: skip


#: A shell starts what is in its background with SIGINT ignored; a program may say otherwise.
INTERRUPTED = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
os.kill(os.getpid(), signal.SIGINT)
"""


def of_run(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("fxrace-out/run-*/run.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def written(folder: Path, text: str) -> str:
    (folder / "program.py").write_text(text)
    return "program.py"


@pytest.fixture(scope="module")
def racy(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Ran, Path]]:
    """Name -> how its racy program ended, and in which folder; each is run once."""

    @cache
    def ran(name: str) -> tuple[Ran, Path]:
        folder, program = tmp_path_factory.mktemp(name), str(PROGRAMS / f"{name}_racy.py")
        return fxrace("run", "--timeout", "120", "--", program, cwd=folder), folder

    return ran


@pytest.mark.parametrize("name", NAMED)
def test_a_racy_program_is_named(name: str, racy: Callable[[str], tuple[Ran, Path]]) -> None:
    ran, folder = racy(name)
    assert ran.status == 66, ran.stderr
    wanted, found = NAMED[name], of_run(folder)["findings"]
    (hit,) = [f for f in found if (f["pattern"], f["state"]) == (wanted.pattern, wanted.state)]
    assert hit["hazard"] == wanted.hazard
    assert hit["tier"] in ("T0", "T1")
    assert len({side["thread"] for side in hit["sides"]}) == 2
    assert all(side["stack"] for side in hit["sides"])
    assert all(_reaches(side["stack"], f"{name}_racy.py") for side in hit["sides"])
    assert Path(hit["repro"]).name == f"{wanted.hazard}.py"
    assert hit["remedy"]
    assert hit["references"] or wanted.hazard == "checkpoint-rng-race"


def _reaches(stack: list[dict[str, Any]], file: str) -> bool:
    return any(Path(frame["file"]).name == file for frame in stack)


@pytest.mark.parametrize("name", NAMED)
def test_its_fixed_twin_passes(name: str, tmp_path: Path) -> None:
    ran = fxrace("run", "--timeout", "120", "--", str(PROGRAMS / f"{name}_fixed.py"), cwd=tmp_path)
    assert ran.status == 0, ran.stderr
    document = of_run(tmp_path)
    assert document["regions"], "it does trace or compile"
    assert not [f for f in document["findings"] if f["tier"] in ("T0", "T1", "T2")]


def test_a_limit_that_a_program_uses_up_by_itself_is_no_race(tmp_path: Path) -> None:
    text = """
import torch
model = torch.compile(lambda x: x * 2, backend="eager", dynamic=False)
for size in range(2, 14): model(torch.ones(size))
"""
    ran = fxrace("run", "--", written(tmp_path, text), cwd=tmp_path)
    assert ran.status == 0, ran.stderr
    (finding,) = of_run(tmp_path)["findings"]
    assert (finding["pattern"], finding["tier"]) == ("recompile_limit", "T4")
    assert finding["hazard"] is None
    assert "uncatalogued" in ran.stderr


def test_the_tracing_thread_is_shown_beside_the_crashing_one(
    racy: Callable[[str], tuple[Ran, Path]],
) -> None:
    ran, _ = racy("server")
    said = ran.stderr
    assert "request failed" in ran.stdout
    assert said.index("compile_wrapper") < said.index("thread loader") < said.index("create_node")


def test_no_torch_no_watch_and_streams_pass_through(tmp_path: Path) -> None:
    program = written(tmp_path, "import sys\nprint(input()[::-1], sys.argv)\nsys.exit(7)\n")
    ran = subprocess.run(
        arguments("run", "--", program, "-x", "--json"), cwd=tmp_path, env=environment(),
        input="abc\n", capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (7, "cba ['program.py', '-x', '--json']\n")
    assert of_run(tmp_path)["torch"] is None


def test_a_module_is_run_as_python_would(tmp_path: Path) -> None:
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "__init__.py").write_text("")
    (tmp_path / "tool" / "__main__.py").write_text("import sys\nprint(__package__, sys.argv[1:])")
    ran = fxrace("run", "--", "-m", "tool", "a", cwd=tmp_path)
    assert (ran.status, ran.stdout) == (0, "tool ['a']\n")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("import os; os._exit(9)", 9),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 128 + signal.SIGTERM),
        (INTERRUPTED, 128 + signal.SIGINT),
        ("import os\nif not os.fork(): os._exit(0)\nos.wait()", 0),
    ],
)
def test_every_way_to_end_is_passed_on(text: str, status: int, tmp_path: Path) -> None:
    ran = fxrace("run", "--", written(tmp_path, text), cwd=tmp_path)
    assert ran.status == status, ran.stderr
    assert of_run(tmp_path)["findings"] == []


def test_a_crash_is_a_finding_with_its_stack(tmp_path: Path) -> None:
    text = "import faulthandler\nprint('up', flush=True)\nfaulthandler._sigsegv()"
    ran = fxrace("run", "--", written(tmp_path, text), cwd=tmp_path)
    assert ran.status == 128 + signal.SIGSEGV
    (finding,) = of_run(tmp_path)["findings"]
    assert (finding["pattern"], finding["tier"]) == ("crash", "T0")
    assert any(side["stack"] for side in finding["sides"])


def test_an_error_of_its_own_is_shown_as_python_shows_it(tmp_path: Path) -> None:
    text = "def f():\n    raise ValueError('mine')\n\nf()\n"
    program = written(tmp_path, text)
    plain = subprocess.run(
        [*arguments()[:1], program], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    ran = fxrace("run", "--", program, cwd=tmp_path)
    shown = [line for line in ran.stderr.splitlines() if not line.startswith("fxrace: ")]
    own = [line.replace(str(tmp_path) + os.sep, "") for line in plain.stderr.splitlines()]
    assert shown == own
    assert ran.status == plain.returncode == 1
    assert of_run(tmp_path)["findings"] == []


def test_errors_of_threads_reach_the_programs_own_hook_and_the_record(tmp_path: Path) -> None:
    text = """
import threading
threading.excepthook = lambda args: print("own hook:", args.exc_value)
def work(): raise KeyError("k")
thread = threading.Thread(target=work, name="worker")
thread.start(); thread.join()
"""
    ran = fxrace("run", "--", written(tmp_path, text), cwd=tmp_path)
    assert (ran.status, ran.stdout) == (0, "own hook: 'k'\n")
    (record,) = tmp_path.glob("fxrace-out/run-*/1/events.jsonl")
    raised = [e for line in record.open() if (e := json.loads(line))["kind"] == "raised"]
    assert [(e["data"]["role"], e["data"]["error"]["type"]) for e in raised] == [
        ("worker", "KeyError")
    ]


def test_a_fork_writes_a_record_of_its_own(tmp_path: Path) -> None:
    text = """
import os, torch
if not os.fork():
    torch.fx.symbolic_trace(torch.nn.ReLU()); os._exit(0)
os.wait()
"""
    ran = fxrace("run", "--", written(tmp_path, text), cwd=tmp_path)
    assert ran.status == 0, ran.stderr
    (parent,) = tmp_path.glob("fxrace-out/run-*/1/events.jsonl")
    (child,) = tmp_path.glob("fxrace-out/run-*/1/events-*.jsonl")
    assert '"region"' in child.read_text()
    assert '"region"' not in parent.read_text()


def test_out_of_time_is_124(tmp_path: Path) -> None:
    text = "import threading\nthreading.Event().wait(60)"
    ran = fxrace("run", "--timeout", "1", "--", written(tmp_path, text), cwd=tmp_path)
    assert ran.status == 124


def test_findings_go_into_the_structured_trace(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    ran = subprocess.run(
        arguments("run", "--", str(PROGRAMS / "overlapping_traces_racy.py")), cwd=tmp_path,
        env={**environment(), "TORCH_TRACE": str(trace)}, capture_output=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 66
    text = "".join(path.read_text() for path in trace.glob("*.log"))
    assert '"artifact": {"name": "fxrace_findings"' in text
    assert '"state": "fx.patcher"' in text


def test_a_missing_script_is_a_usage_error(tmp_path: Path) -> None:
    assert fxrace("run", "--", "nowhere.py", cwd=tmp_path).status == 2
    assert fxrace("run", cwd=tmp_path).status == 2
