"""Options, ini values and markers: each does what it says; what it cannot mean is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.plugin.running import COUNTER, ROOT, became, plugin, ran

pytest_plugins = "pytester"
ONE = (
    COUNTER
    + """
@pytest.mark.fxrace({mark})
def test_it({fixture}):
    {fixture}.add()
"""
)


def one(pytester: pytest.Pytester, mark: str = "", fixture: str = "counter") -> None:
    pytester.makepyfile(test_it=ONE.format(mark=mark, fixture=fixture))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--fxrace=sometimes", "none of off, observe, explore"),
        ("--fxrace-schedules=0", "no whole number from 1 on"),
        ("--fxrace-time=soon", "is no time"),
        ("--fxrace-seed=x", "no whole number from 0 on"),
        ("--fxrace-threads=1", "no whole number from 2 on"),
        ("--fxrace-isolate=vm", "none of fork, spawn, none"),
        ("--fxrace-fail-on=t9", "is none of T0"),
        ("--fxrace-baseline=nowhere.json", "is no baseline"),
        ("--fxrace-update-baseline", "name the file"),
        ("--fxrace-guard=angel", "angel"),
        ("--fxrace-replay=fxr1:x", "is no token"),
    ],
)
def test_an_option_that_cannot_mean_anything(
    pytester: pytest.Pytester, word: str, said: str
) -> None:
    one(pytester)
    result, document = ran(pytester, "--fxrace=explore", word)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in result.stderr.str() + result.stdout.str()
    assert not document


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("thread=3", "takes no 'thread'"),
        ("threads='two'", "no whole number"),
        ("strategy='luck'", "none of portfolio"),
        ("grain='sand'", "none of region"),
        ("time='x'", "no time"),
        ("3", "keywords only"),
    ],
)
def test_a_marker_that_cannot_mean_anything(
    pytester: pytest.Pytester, mark: str, said: str
) -> None:
    one(pytester, mark)
    result, _ = ran(pytester, "--fxrace=explore")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "test_it.py::test_it" in result.stderr.str() + result.stdout.str()
    assert said in result.stderr.str() + result.stdout.str()


def test_off_changes_nothing_and_fixtures_skip(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=ONE.format(mark="", fixture="counter") + "\n\n" + (
        "def test_fixture(fxrace):\n    fxrace.explore(print, print)\n\n\n"
        "def test_lock():\n    assert type(threading.Lock()).__module__ == '_thread'\n"
    ))  # fmt: skip
    result, document = ran(pytester, "--strict-markers")
    result.assert_outcomes(passed=2, skipped=1)
    assert not document


def test_an_idle_plugin_loads_no_torch_and_takes_no_time(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\n\ndef test_it():\n    assert 'torch' not in sys.modules\n"
        "    assert not [m for m in sys.modules if m.startswith('fxrace.testing')]\n"
    )
    timed = (
        "import sys, time, pytest; began = time.process_time(); import fxrace.pytest_plugin; "
        "print(time.process_time() - began)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    took = [
        float(subprocess.run([sys.executable, "-c", timed], env=env, capture_output=True, text=True,
                             timeout=60, check=True).stdout)
        for _ in range(3)
    ]  # fmt: skip
    assert min(took) < 0.02
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin()]
    done = subprocess.run(command, cwd=tmp_path, env=env, timeout=60, capture_output=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_expect_known_baseline_and_fail_on(pytester: pytest.Pytester) -> None:
    body = "def {name}(counter):\n    counter.add()\n\n\n"
    pytester.makepyfile(test_it=COUNTER + "\n\n" + "".join(
        f"@pytest.mark.fxrace(schedules=20{expect})\n{more}" + body.format(name=name)
        for name, expect, more in (
            ("test_plain", "", ""),
            ("test_expected", ", expect='59502025d5c5'", ""),
            ("test_other_expected", ", expect='fx-patcher-assert'", ""),
            ("test_known", "", "@pytest.mark.fxrace_known('59502025d5c5', issue='#1')\n"),
            ("test_known_here", "",
             "@pytest.mark.fxrace_known(fp='59502025d5c5', issue='#1', until='99.0')\n"),
            ("test_fixed", "",
             "@pytest.mark.fxrace_known(fp='59502025d5c5', issue='#1', until='2.0')\n"),
        )
    ))  # fmt: skip
    words = ("--fxrace=explore", "--fxrace-baseline=known.json")
    _, document = ran(pytester, *words, "--fxrace-update-baseline")
    assert became(document) == {
        "test_plain": "failed",
        "test_expected": "passed",
        "test_other_expected": "failed",
        "test_known": "known",
        "test_known_here": "known",
        "test_fixed": "failed",
    }
    written = json.loads((pytester.path / "known.json").read_text())
    assert [entry["fingerprint"] for entry in written["entries"]] == ["59502025d5c5"]
    result, document = ran(pytester, *words, "-k", "plain or fixed or known_here")
    assert set(became(document).values()) == {"known"}
    assert not document["complete"]
    result.assert_outcomes(xfailed=3, deselected=3)
    result, document = ran(pytester, "--fxrace=explore", "--fxrace-fail-on=t2", "-k", "plain")
    assert became(document) == {"test_plain": "passed"}
    assert document["tests"][0]["findings"] == ["59502025d5c5"]


@pytest.mark.slow
def test_isolation_in_a_new_interpreter_and_in_none(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it=COUNTER + "\n\n@pytest.mark.fxrace(schedules=20)\n@pytest.mark.parametrize('kind', "
        "[Counter, Safe])\ndef test_it(kind, _made={}):\n    _made.setdefault(kind, kind()).add()\n"
    )
    expected = {"test_it[Counter]": "failed", "test_it[Safe]": "passed"}
    _, elsewhere = ran(pytester, "--fxrace=explore", "--fxrace-isolate=spawn")
    assert became(elsewhere) == expected
    result, here = ran(pytester, "--fxrace=explore", "--fxrace-isolate=none")
    assert became(here) == expected
    assert [one["findings"] for one in here["tests"]] == [
        one["findings"] for one in elsewhere["tests"]
    ]
    result.assert_outcomes(passed=1, failed=1)


@pytest.mark.slow
def test_ini_values_and_the_seed(pytester: pytest.Pytester) -> None:
    one(pytester, "strategy='random'")
    pytester.makeini("[pytest]\nfxrace_mode = explore\nfxrace_schedules = 9\nfxrace_seed = 4\n")
    _, document = ran(pytester)
    (test,) = document["tests"]
    assert document["seed"] == 4
    assert test["schedules"] <= 9
    _, again = ran(pytester)
    assert again["tests"][0]["seed"] == test["seed"]
    assert again["findings"] == document["findings"]
    _, other = ran(pytester, "--fxrace-seed=5")
    assert other["tests"][0]["seed"] != test["seed"]


@pytest.mark.slow
def test_the_clean_state_of_torch(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import torch\nimport pytest\n\n"
        "pytestmark = pytest.mark.usefixtures('fxrace_clean_state')\n"
        "\n\ndef test_poisons():\n    torch.fx._symbolic_trace._is_fx_tracing_flag = True\n\n\n"
        "def test_after():\n    torch.fx._symbolic_trace._is_fx_tracing_flag = False\n"
        "    torch.fx._symbolic_trace._is_fx_tracing_flag = True\n"
    )
    result, _ = ran(pytester, own_process=True)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*test_poisons left torch changed:*"])
    result.stdout.fnmatch_lines(["*_is_fx_tracing_flag) was False, is True"])
