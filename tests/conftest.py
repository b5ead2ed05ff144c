"""Settings for all tests: one derandomised Hypothesis profile, the order, and skips without a GPU.

The order is for a run on several workers, each of which takes file after file: files that hold a
slow test come first, or one of them would be run alone at the end. ``-n auto`` means one worker
more than processors, because tests often wait: for a process to start, or a limit to pass.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    found = yield
    return found if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else found + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
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
