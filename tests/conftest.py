"""Settings for all tests: one derandomised Hypothesis profile, and the reason for a skipped GPU."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device; torch sees none"))


def pytest_collection_finish() -> None:
    """What is here now stays: looking for garbage in it would copy it in every fork of a test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where trained targets are kept: one folder for all workers, and for what tests start."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FXRACE_CACHE", str(shared / "targets"))
        yield shared / "targets"
