"""Where locks are wanted and held, from source lines and the addresses of local variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fxrace.launch import lock_sites
from fxrace.launch.source_blocks import blocks

SOURCE = """
import threading
shared = threading.Lock()

def two(a, b):
    with a, b:
        work()

def attribute(self):
    with self.lock:
        def later():
            work()
        work()

def explicit(a):
    a.acquire(timeout=3)

def module_level():
    with shared:
        work()

def called(a):
    with a.held():
        work()

def conditional(a):
    with a:
        a.wait()

def closure(a):
    def inner():
        with a:
            work()
    return inner
"""
A, B = "<_thread.lock at 0xa>", "<_thread.lock at 0xb>"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(SOURCE)
    return str(path)


def frame(file: str, function: str, text: str, nth: int = 0, **local: str) -> dict[str, Any]:
    """A frame of ``file`` on the nth line of this function's part that holds the text."""
    lines = SOURCE.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(f"def {function}("))
    hits = [i + 1 for i, line in enumerate(lines) if i >= begin and text in line]
    variables = [{"name": name, "repr": value} for name, value in local.items()]
    return {"filename": file, "name": function, "line": hits[nth], "locals": variables}


def wanted(*frames: dict[str, Any]) -> list[str]:
    return [wait.lock for wait in lock_sites.waits_in("t", frames)]


def held(*frames: dict[str, Any]) -> list[str]:
    roots = {local["repr"].strip("<>") for one in frames for local in one["locals"]}
    every = frozenset(roots | {one["filename"] for one in frames})
    return [hold.lock for hold in lock_sites.holds_in("t", frames, every)]


def test_on_the_line_it_is_wanted_in_the_block_it_is_held(file: str) -> None:
    locks = {"a": A, "b": B}
    before, inside = (frame(file, "two", text, **locks) for text in ("with", "work"))
    assert wanted(before) == held(inside) == [A.strip("<>"), B.strip("<>")]
    assert wanted(inside) == held(before) == []


def test_an_attribute_is_told_by_the_object_it_belongs_to(file: str) -> None:
    one, other = (
        wanted(frame(file, "attribute", "with", self=f"<Shop at {at}>")) for at in ("0x1", "0x2")
    )
    assert one != other
    assert one == held(frame(file, "attribute", "work", nth=1, self="<Shop at 0x1>"))


def test_a_function_defined_in_a_block_does_not_run_in_it(file: str) -> None:
    assert held(frame(file, "attribute", "work", self="<Shop at 0x1>")) == []


def test_explicit_and_module_level(file: str) -> None:
    assert wanted(frame(file, "explicit", "acquire", a=A)) == [A.strip("<>")]
    assert wanted(frame(file, "module_level", "with")) == [f"shared of {file}"]


def test_what_has_no_identity_is_left_out(file: str) -> None:
    assert wanted(frame(file, "called", "with", a=A)) == []
    assert wanted(frame(file, "closure", "with")) == []
    assert wanted(frame(file, "two", "with")) == []


def test_waiting_on_a_condition_lets_go_of_its_lock(file: str) -> None:
    here = frame(file, "conditional", "a.wait", a="<Condition at 0xa>")
    below = {"filename": "/l/threading.py", "name": "Condition.wait", "line": 1, "locals": []}
    assert held(here) == ["Condition at 0xa"]
    assert held(below, here) == []


def test_only_the_innermost_frame_of_the_program_wants(file: str) -> None:
    deeper = frame(file, "closure", "return")
    assert wanted(deeper, frame(file, "two", "with", a=A, b=B)) == []


def test_only_what_somebody_wants_is_looked_for(file: str) -> None:
    inside = frame(file, "two", "work", a=A, b=B)
    elsewhere = frozenset({"_thread.lock at 0xc"})
    assert lock_sites.holds_in("t", [inside], elsewhere) == ()
    waits = lock_sites.waits_in("u", [frame(file, "two", "with", a=A, b=B)])
    assert [hold.lock for hold in lock_sites.holds_in("t", [inside], lock_sites.roots_of(waits))]


def test_source_that_is_not_there(tmp_path: Path) -> None:
    missing = {"filename": str(tmp_path / "gone.py"), "name": "f", "line": 1, "locals": []}
    assert wanted(missing) == held(missing) == []


def test_a_join_names_the_thread_by_its_object() -> None:
    def threading(name: str, at: str) -> dict[str, Any]:
        local = [{"name": "self", "repr": f"<Thread at {at}>"}]
        return {"filename": "/l/threading.py", "name": name, "line": 1, "locals": local}

    threads = {
        "MainThread": [threading("Thread.join", "0x2")],
        "one": [threading("Thread._bootstrap", "0x1")],
        "two": [threading("Thread._bootstrap", "0x2")],
    }
    assert [(w.waiter, w.owner) for w in lock_sites.joins_in(threads)] == [("MainThread", "two")]


def test_an_import_lock_is_told_by_its_module() -> None:
    def bootstrap(function: str) -> dict[str, Any]:
        local = [{"name": "name", "repr": '"json"'}]
        file = "<frozen importlib._bootstrap>"
        return {"filename": file, "name": function, "line": 1, "locals": local}

    waiting = [bootstrap("_ModuleLock.acquire"), bootstrap("_find_and_load")]
    assert wanted(*waiting) == held(bootstrap("_find_and_load_unlocked"))
    assert held(*waiting) == []


def test_blocks_of_no_python() -> None:
    with pytest.raises(SyntaxError):
        blocks(b"def")
