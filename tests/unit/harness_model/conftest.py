"""One trained tiny target for all of these tests, and for all xdist workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from harness.model.pretrain import load_target
from harness.model.target import Target
from harness.recipes.tiny import preset as tiny
from tests.unit.harness_model.rig import raw


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def target(kept: Path, one_thread: None) -> Target:
    """tiny's target, trained."""
    return load_target(tiny, "cpu", kept)


@pytest.fixture(scope="session")
def raw_target(one_thread: None) -> Target:
    """The same shape at random weights."""
    return load_target(raw, "cpu")
