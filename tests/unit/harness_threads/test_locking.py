"""What each locking strategy keeps out, and what it lets through."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator

import pytest
import torch

from harness.contracts import Call, Locking, Phase
from harness.parts import load, make
from tests.unit.harness_threads.threads import SOON_S, Background, Parked

STEP = {"site": "step", "phase": Phase.STEP}
FORWARD = {"site": "attention", "phase": Phase.FORWARD}
RECOMPUTE = {"site": "attention", "phase": Phase.RECOMPUTE}


def strategy(name: str) -> Locking:
    live: Locking = make("locking", name, load("locking", name))
    return live


def where() -> str:
    return threading.current_thread().name


def excludes(lock: Locking, first: Call, second: Call) -> bool:
    """Does ``first``, standing still, keep ``second`` out?"""
    parked = Parked()
    holder = Background(lambda: lock.around(first, parked))
    assert parked.inside.wait(SOON_S)
    other = Background(lambda: lock.around(second, where))
    kept_out = other.stuck
    parked.go.set()
    holder.result()
    other.result()
    return kept_out


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("none", STEP, False),
        ("none", FORWARD, False),
        ("exec_lock", STEP, False),
        ("exec_lock", FORWARD, True),
        ("exec_lock", RECOMPUTE, False),
        ("every_call", STEP, False),
        ("every_call", FORWARD, True),
        ("every_call", RECOMPUTE, True),
        ("whole_step", STEP, True),
        ("whole_step", FORWARD, False),
    ],
)
def test_what_excludes_what(name: str, kind: dict[str, object], expected: bool) -> None:
    first, second = (Call(drafter=drafter, **kind) for drafter in (0, 1))  # type: ignore[arg-type]
    assert excludes(strategy(name), first, second) is expected


def test_exec_lock_covers_each_drafters_first_call_only() -> None:
    lock = strategy("exec_lock")
    calls = [Call(drafter=drafter, **FORWARD) for drafter in (0, 1)]  # type: ignore[arg-type]
    assert excludes(lock, *calls)
    assert not excludes(lock, *calls)  # both have had their first


def test_whole_step_excludes_a_rehearsal_too() -> None:
    rehearsal = Call(site="step", drafter=1, phase=Phase.WARMUP)
    assert excludes(strategy("whole_step"), Call(drafter=0, **STEP), rehearsal)  # type: ignore[arg-type]


@pytest.fixture
def compiler() -> Iterator[Locking]:
    live = strategy("one_compiler_thread")
    yield live
    live.close()


def attention(drafter: int, *key: object) -> Call:
    return Call(site="attention", drafter=drafter, phase=Phase.FORWARD, key=key)


def test_cold_calls_run_on_the_compiler_thread(compiler: Locking) -> None:
    here = where()
    assert compiler.around(attention(0, "shape"), where) == "compiler"
    assert compiler.around(attention(0, "shape"), where) == here
    assert compiler.around(attention(0, "other shape"), where) == "compiler"
    assert compiler.around(attention(1, "shape"), where) == "compiler"  # its own compiled function
    assert compiler.around(Call(drafter=2, **STEP), where) == here  # type: ignore[arg-type]


def breaks() -> None:
    raise KeyError("in the traced code")


def test_errors_come_back_with_their_traceback(compiler: Locking) -> None:
    with pytest.raises(KeyError) as caught:
        compiler.around(attention(0, "shape"), breaks)
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[0] == "test_errors_come_back_with_their_traceback"
    assert frames[-1] == "breaks"


@pytest.mark.parametrize("grad", [True, False])
def test_grad_mode_goes_along(compiler: Locking, grad: bool) -> None:
    with torch.set_grad_enabled(grad):
        assert compiler.around(attention(0, grad), torch.is_grad_enabled) is grad


def test_saved_tensor_hooks_go_along(compiler: Locking) -> None:
    packed = []
    weight = torch.ones(2, requires_grad=True)

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        packed.append(where())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        product = compiler.around(attention(0, "shape"), lambda: weight * weight)
    assert set(packed) == {"compiler"}
    product.sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [2.0, 2.0]


def test_its_thread_ends_and_takes_nothing_more(compiler: Locking) -> None:
    compiler.around(attention(0, "shape"), where)
    compiler.close()
    assert "compiler" not in [thread.name for thread in threading.enumerate()]
    with pytest.raises(RuntimeError, match="closed"):
        compiler.around(attention(0, "new"), where)
