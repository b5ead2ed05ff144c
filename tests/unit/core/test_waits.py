"""Who waits for whom, from few lines: owners, circles, and what must close none."""

from __future__ import annotations

import pytest

from fxrace.core.stand import COMPILE_LOCK, IMPORT_LOCK, stack_holds, stack_waits
from fxrace.core.waits import Hold, Kind, Wait, circle, owned, with_device_waits
from fxrace.records.finding import Frame
from fxrace.records.outcome import ThreadStack

CONVERT, INDUCTOR = "/x/torch/_dynamo/convert_frame.py", "/x/torch/_inductor/compile_fx.py"
USER = ("/home/me/train.py", "train")
CALL = (CONVERT, "CatchErrorsWrapper.__call__")
OLD_CALL = (CONVERT, "__call__")
COMPILE = (CONVERT, "_compile")
LAZY = (INDUCTOR, "compile_fx_backward")
BOOTSTRAP = "<frozen importlib._bootstrap>"
FIND = (BOOTSTRAP, "_find_and_load_unlocked")
ENGINE = ("/x/torch/autograd/graph.py", "_engine_run_backward")


def stack(thread: str, *frames: tuple[str, str]) -> ThreadStack:
    """Outermost frame first."""
    found = tuple(Frame(file=file, line=1, function=name) for file, name in frames)
    return ThreadStack(thread=thread, ident=None, frames=found, source="py-spy")


WAITS = {
    "before a compile": ((USER, CALL), COMPILE_LOCK),
    "before a compile, no qualified names": ((USER, OLD_CALL), COMPILE_LOCK),
    "before the lazy backward": ((USER, LAZY), COMPILE_LOCK),
    "before a reset": ((("/x/torch/_dynamo/__init__.py", "reset"),), COMPILE_LOCK),
    "an import": ((USER, (BOOTSTRAP, "_ModuleLock.acquire")), IMPORT_LOCK),
    "a thread": ((USER, ("/l/threading.py", "Thread.join")), "the end of a thread"),
    "a queue": (
        (USER, ("/l/queue.py", "Queue.get"), ("/l/threading.py", "Condition.wait")),
        "something in a queue",
    ),
    "a future": (
        (USER, ("/l/concurrent/futures/_base.py", "Future.result"),
         ("/l/threading.py", "Condition.wait")),
        "the result of a future",
    ),
    "an idle pool thread": ((("/l/concurrent/futures/thread.py", "_worker"),),
                            "something in a queue"),
}  # fmt: skip

NO_WAITS = {
    "in a compile": (USER, CALL, (CONVERT, "ConvertFrame.__call__"), COMPILE),
    "in a lazy backward": (USER, LAZY, (INDUCTOR, "compile_fx_inner")),
    "in the program": (USER,),
    "a program's own queue.py": (("/x/site-packages/q/queue.py", "get"),),
    "started by threading": (("/l/threading.py", "Thread.run"), USER),
    "nothing": (),
}


@pytest.mark.parametrize("name", sorted(WAITS))
def test_a_stack_that_waits(name: str) -> None:
    frames, lock = WAITS[name]
    assert [wait.lock for wait in stack_waits([stack("a", *frames)])] == [lock]


@pytest.mark.parametrize("name", sorted(NO_WAITS))
def test_a_stack_that_does_not(name: str) -> None:
    assert stack_waits([stack("a", *NO_WAITS[name])]) == ()


def test_a_hook_of_ours_below_hides_nothing() -> None:
    hook = ("/x/fxrace/probe/hooks/compile_lock.py", "_Forwarding.acquire")
    assert [wait.lock for wait in stack_waits([stack("a", USER, LAZY, hook)])] == [COMPILE_LOCK]


@pytest.mark.parametrize("name", ["in a compile", "in a lazy backward"])
def test_who_is_deeper_inside_holds(name: str) -> None:
    assert stack_holds([stack("a", *NO_WAITS[name])]) == (Hold(owner="a", lock=COMPILE_LOCK),)


def test_who_stands_before_it_holds_nothing() -> None:
    assert stack_holds([stack("a", USER, CALL), stack("b", USER, LAZY)]) == ()


def test_an_importer_holds_only_when_it_is_the_only_one() -> None:
    one, two = stack("a", FIND, USER), stack("b", FIND, USER)
    assert [hold.owner for hold in stack_holds([one])] == ["a"]
    assert stack_holds([one, two]) == ()


def test_the_first_source_that_knows_an_owner_counts() -> None:
    blind, knowing = (Wait(waiter="a", lock="x", owner=o) for o in (None, "b"))
    assert owned([blind, knowing], ()) == (knowing,)
    assert owned([blind], [Hold(owner="c", lock="x")])[0].owner == "c"
    assert owned([blind], ()) == (blind,)


def test_of_two_locks_on_a_line_the_one_another_thread_holds_counts() -> None:
    waits = [Wait(waiter="a", lock=lock, owner=None) for lock in ("x", "y")]
    assert owned(waits, [Hold(owner="b", lock="y")])[0].lock == "y"


def test_circles() -> None:
    ab, ba = Wait(waiter="a", lock="x", owner="b"), Wait(waiter="b", lock="y", owner="a")
    join = Wait(waiter="main", lock="end", owner="a", kind=Kind.JOIN)
    assert set(circle((join, ab, ba))) == {ab, ba}
    assert circle((ab, join)) == ()
    assert circle((Wait(waiter="a", lock="x", owner="a"),))


def test_a_thread_in_the_engine_waits_for_a_foreign_thread_that_waits() -> None:
    stacks = [stack("caller", USER, ENGINE), stack("Dummy-1", CALL), stack("own", USER, CALL)]
    waits = with_device_waits(stack_waits(stacks), stacks)
    assert {(w.waiter, w.owner) for w in waits if w.kind is Kind.DEVICE} == {("caller", "Dummy-1")}
