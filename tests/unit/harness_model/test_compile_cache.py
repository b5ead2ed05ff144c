"""The portable compile cache, through Inductor on the CPU: each run in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.devices import place
from harness.parts import load, load_preset
from harness.recipes.tiny import preset as tiny
from harness.trial import shares_cache
from harness.warmup.compile_cache import CompileCache, _key

ROOT = Path(__file__).parents[3]
CHILD = "tests.unit.harness_model.compile_cache_child"


def child(folder: Path, name: str, *arguments: str) -> dict[str, Any]:
    """One process in the environment of a trial: caches forbidden, its own folder for them."""
    ran = subprocess.run(
        [sys.executable, "-m", CHILD, *arguments],
        cwd=ROOT,
        env={
            **os.environ, "FXRACE_CACHE": str(folder / "kept"), "PYTHONPATH": str(ROOT),
            "TORCHINDUCTOR_CACHE_DIR": str(folder / name), "OMP_NUM_THREADS": "1",
            "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1",
        },
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def test_packed_rows_have_a_file_of_their_own() -> None:
    """Their masks are other kernels; whose documents they are changes nothing of them."""
    plan = place(tiny, ("cpu",), targets=1, drafters=1, seed=0, steps=1, freeze=False)
    kinds = ("joined", "apart", "7", "packed", "packed:7")
    keys = [_key(replace(plan, documents=how), {}) for how in kinds]
    assert keys[0] == keys[1] == keys[2] != keys[3] == keys[4]


@pytest.mark.slow
def test_a_later_run_finds_all_that_an_earlier_one_made(tmp_path: Path) -> None:
    first, later = child(tmp_path, "a"), child(tmp_path, "b")
    assert first["warmup"]["miss"] >= 4, "forward and backward at two lengths were compiled"
    assert first["warmup"]["hit"] == 0
    assert later["warmup"] == {"hit": 0, "miss": 0}, "nothing was rehearsed"
    for run, when in ((first, "new"), (later, "of before")):
        assert run["thread"]["hit"] >= 4
        assert run["thread"]["miss"] == 0
        assert run["notes"][0].endswith(when)


@pytest.mark.slow
def test_trials_that_share_a_cache_find_what_others_compiled(tmp_path: Path) -> None:
    """Each has folders of its own and is told to do without caches; the setting outranks both."""
    first, later = (child(tmp_path, name, "shared")["thread"] for name in ("a", "b"))
    assert first["hit"] == 0
    assert first["miss"] >= 4
    assert later == {"hit": first["miss"], "miss": 0}


@pytest.mark.parametrize(
    ("preset", "device", "asked", "shares"),
    [
        ("tiny", "cuda:0", None, False),
        ("tiny", "cuda:0", True, True),
        ("paper_8b", "cuda:0", None, True),
        ("paper_8b", "cuda:0", False, False),
        ("paper_8b", "cpu", None, False),
    ],
)
def test_the_preset_decides_unless_somebody_asks(
    preset: str, device: str, asked: bool | None, shares: bool
) -> None:
    plan = place(
        load_preset(preset), (device,), targets=1, drafters=1, seed=0, steps=1, freeze=False
    )
    assert shares_cache(plan, {"shared_cache": asked}) is shares


def test_it_is_for_devices_that_inductor_serves() -> None:
    part = load("warmup", "compile_cache")
    assert "aot_eager" in str(part.refuse("cpu"))
    assert part.refuse("cuda") is None


def test_a_damaged_file_says_so_and_is_made_again_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FXRACE_CACHE", str(tmp_path))
    warmup = CompileCache()
    file = tmp_path / "compiled" / warmup._file.name
    file.parent.mkdir()
    file.write_bytes(b"nonsense")
    with pytest.raises(RuntimeError, match="deleted now"):
        warmup.before_threads([], ())
    assert not file.exists()
