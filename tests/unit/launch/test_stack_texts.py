"""What faulthandler and py-spy write, and what is made of it."""

from __future__ import annotations

import json

import pytest

from fxrace.launch import faulthandler_text, py_spy
from fxrace.records.finding import Frame

WRITTEN = """Fatal Python error: Segmentation fault

Thread 0x00007fd95d6a46c0 (most recent call first):
  File "/a b/lib.py", line 982 in run
  File "/a b/lib.py", line 1045 in _bootstrap_inner

Current thread 0x00007fd95e9f9b80 [python] (most recent call first):
  File "/m.py", line ??? in <module>

Extension modules: numpy.core, torch._C (total: 2)
  File "/not/a/frame.py", line 1 in x
"""


def test_faulthandler() -> None:
    second, first = faulthandler_text.parse(WRITTEN)  # what crashed comes first
    assert first.ident == 0x7FD95D6A46C0
    assert first.frames == (
        Frame(file="/a b/lib.py", line=1045, function="_bootstrap_inner"),
        Frame(file="/a b/lib.py", line=982, function="run"),
    )
    assert (second.thread, second.frames) == (
        "python",
        (Frame(file="/m.py", line=0, function="<module>"),),
    )


def test_faulthandler_twice_keeps_the_last() -> None:
    later = WRITTEN.replace("line 982", "line 7")
    _, first = faulthandler_text.parse(WRITTEN + later)
    assert first.frames[-1].line == 7


def test_faulthandler_nothing() -> None:
    assert faulthandler_text.parse("") == ()


def test_faulthandler_of_python_314() -> None:
    text = 'Thread 0x1 [drafter 0] (most recent call first):\n  File "/m.py", line 3 in f\n'
    (thread,) = faulthandler_text.parse(text)
    assert (thread.thread, thread.ident) == ("drafter 0", 1)


def frame(name: str) -> dict[str, object]:
    return {"name": name, "filename": f"/{name}.py", "line": 4, "locals": None}


def test_py_spy() -> None:
    plain = [
        {"thread_id": 5, "thread_name": "drafter 0", "owns_gil": True,
         "frames": [frame("inner"), frame("outer")]},
        {"thread_id": 6, "thread_name": None, "owns_gil": False, "frames": []},
    ]  # fmt: skip
    named, unnamed = py_spy.parse(json.dumps(plain))
    assert (named.thread, named.ident, named.holds_gil) == ("drafter 0", 5, True)
    assert [f.function for f in named.frames] == ["outer", "inner"]
    assert unnamed.thread == "thread 0x6"
    assert not unnamed.holds_gil


@pytest.mark.parametrize("text", ["", "{}{", '[{"frames": []}]', "7"])
def test_py_spy_in_an_unknown_form(text: str) -> None:
    with pytest.raises(py_spy.Refused):
        py_spy.parse(text)


def test_py_spy_of_no_process() -> None:
    with pytest.raises(py_spy.Refused):
        py_spy.dump(2**22 + 1)


def test_py_spy_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(py_spy, "program", lambda: None)
    with pytest.raises(py_spy.Refused, match="not installed"):
        py_spy.dump(1)
