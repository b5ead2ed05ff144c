"""When FakeTensorMode's device guard is put in beforehand; that it helps, the repro shows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
import torch

from fxrace.guards._device_guard import attach_device_guard


@dataclass
class Machine:
    """A torch as this says it is; ``put_in`` counts the calls."""

    patch: pytest.MonkeyPatch
    put_in: int = 0

    def is_(self, version: str, *, built: bool = True, gpus: int = 0) -> Machine:
        self.patch.setattr(torch, "__version__", version)
        self.patch.setattr(torch.backends.cuda, "is_built", lambda: built)
        self.patch.setattr(torch.cuda, "device_count", lambda: gpus)
        return self

    def put(self) -> None:
        self.put_in += 1


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(monkeypatch)
    monkeypatch.setattr(torch._C, "_ensureCUDADeviceGuardSet", made.put, raising=False)
    return made


@pytest.mark.parametrize("version", ["2.10.0+cu128", "2.11.0+cu130"])
def test_it_is_put_in_on_main_where_a_build_with_cuda_sees_no_gpu(
    machine: Machine, version: str
) -> None:
    machine.is_(version)
    attach_device_guard()()
    assert machine.put_in == 1
    with ThreadPoolExecutor(1) as pool:  # that thread ends, and what is its own with it
        pool.submit(attach_device_guard).result()
    assert machine.put_in == 1


@pytest.mark.parametrize("version", ["2.9.1+cu128", "2.12.0+cu130", "2.1.0", "2.110.0"])
def test_no_other_torch_needs_it(machine: Machine, version: str) -> None:
    machine.is_(version)
    attach_device_guard()
    assert machine.put_in == 0


def test_nothing_is_put_in_with_a_gpu_or_without_cuda(machine: Machine) -> None:
    for built, gpus in ((True, 1), (False, 0)):
        machine.is_("2.11.0", built=built, gpus=gpus)
        attach_device_guard()
    assert machine.put_in == 0
