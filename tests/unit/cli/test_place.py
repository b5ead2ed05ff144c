"""How many trials run side by side where: a stand-in for the executor says what it was given."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fxrace.commands import _place, _plan
from fxrace.errors import DeviceUnavailable


class Executor:
    """On a machine with as many GPUs as ``gpus``."""

    gpus: tuple[str, ...] = ()

    def __init__(self, *, jobs: int, **_: Any) -> None:
        self.jobs = jobs

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def describe(self) -> SimpleNamespace:
        return SimpleNamespace(gpus=self.gpus, torch="2.13.0", executable="python")


def jobs_of(folder: Path, device: str, asked: int | None, on_gpus: int) -> tuple[str, int]:
    with _place.opened(
        python="python", directory=folder, jobs=asked, roots=(), device=device,
        jobs_on_gpus=on_gpus,
    ) as place:  # fmt: skip
        executor: Any = place.executor
        return place.device, executor.jobs


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(_place, "LocalExecutor", Executor)
    monkeypatch.setattr(_place, "driver_present", lambda: True)
    monkeypatch.setattr(_place, "processors", lambda: 16)
    return monkeypatch


def test_on_a_gpu_as_many_as_its_preset_allows(tmp_path: Path, machine: pytest.MonkeyPatch) -> None:
    machine.setattr(Executor, "gpus", ("H200",))
    for device in ("auto", "cuda"):
        assert jobs_of(tmp_path, device, None, 8) == ("cuda", 8)
        assert jobs_of(tmp_path, device, None, 1) == ("cuda", 1)
        assert jobs_of(tmp_path, device, 3, 8) == ("cuda", 3)
    assert jobs_of(tmp_path, "cpu", None, 8) == ("cpu", 16)


def test_a_driver_without_a_gpu_is_no_gpu(tmp_path: Path, machine: pytest.MonkeyPatch) -> None:
    machine.setattr(Executor, "gpus", ())
    assert jobs_of(tmp_path, "auto", None, 8) == ("cpu", 16)
    with pytest.raises(DeviceUnavailable):
        jobs_of(tmp_path, "cuda", None, 8)


def test_what_is_timed_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for processors, most in ((2, 2), (16, 8)):
        monkeypatch.setattr(_plan, "processors", lambda many=processors: many)
        assert _plan.jobs_on_gpus("tiny") == most
    assert {_plan.jobs_on_gpus(name) for name in ("small", "paper_4b", "paper_8b")} == {1}
