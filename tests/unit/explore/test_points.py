"""Points by following code: the same names from ``settrace`` and ``sys.monitoring``."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from fxrace.probe.explore.choices import InOrder, OneStop
from fxrace.probe.explore.current import Current
from fxrace.probe.explore.played import Played
from fxrace.probe.explore.points import followed, settrace
from fxrace.probe.explore.points.entries import Entries
from fxrace.probe.explore.points.followed import Sight
from fxrace.probe.explore.points.writes import Writes
from fxrace.probe.explore.program import Program
from fxrace.probe.explore.schedule import Stage
from fxrace.probe.hooks import Blind

LIBRARY = """
flag = None
other = []

def save_and_set():
    global flag
    was = flag
    flag = "set"
    work()
    flag = was

def work():
    other.append(1)
    leaf()
    leaf()

def leaf():
    return [x for x in (lambda: (1, 2))()]

class Tracer:
    def trace(self):
        return self.step(), self.step()

    def step(self):
        return leaf()

    @classmethod
    def make(cls):
        return cls()

    def __del__(self):
        pass

def whole():
    save_and_set()
    Tracer.make().trace()
"""


@pytest.fixture
def library(tmp_path: Path):
    """A module in a folder of its own, as torch is for the real thing."""
    file = tmp_path / "library.py"
    file.write_text(LIBRARY)
    module = types.ModuleType("library")
    exec(compile(LIBRARY, str(file), "exec"), module.__dict__)
    return module


class _Watched:
    """Two names of the library, watched as the registry's States are."""

    names = ("library.flag", "library.other")

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def values(self) -> list[object]:
        return [self._module.flag, len(self._module.other)]

    def written(self, before, now) -> tuple[str, ...]:
        return tuple(n for n, a, b in zip(self.names, before, now, strict=False) if a is not b)


def play(library, follow, *, calls: bool, within: bool = True, chooser=None) -> Played:
    current = Current()
    writes = Writes(_Watched(library), current)
    entries = Entries(lambda: within, current) if calls else None
    owners = (library.save_and_set.__code__,)
    below = (str(Path(library.save_and_set.__code__.co_filename).parent),)
    following, off = follow(Sight(owners=owners, writes=writes, entries=entries, below=below))
    stage = Stage(current, following=following, entries=entries)
    try:
        program = Program(prepare=lambda: [library.whole, library.whole])
        return stage.play(program, chooser or InOrder((0, 1)))
    finally:
        off()


def names_of(played: Played, thread: int = 0) -> list[str]:
    return [s.at for s in played.steps if s.current == thread and s.at != "end"]


FOLLOWS = [
    pytest.param(settrace.follow, id="settrace"),
    pytest.param(
        followed.best,
        id="best",
        marks=pytest.mark.skipif(sys.version_info < (3, 12), reason="the same before 3.12"),
    ),
]


@pytest.mark.parametrize("follow", FOLLOWS)
def test_writes_are_points_named_by_state_and_visit(library, follow) -> None:
    played = play(library, follow, calls=False)
    expected = ["library.flag:write#1", "library.other:write#1", "library.flag:write#2"]
    assert names_of(played) == names_of(played, 1) == expected


@pytest.mark.parametrize("follow", FOLLOWS)
def test_first_entries_are_points_and_what_has_no_name_is_none(library, follow) -> None:
    played = play(library, follow, calls=True)
    assert names_of(played) == [
        "library:whole#1",
        "library:save_and_set#1",
        "library.flag:write#1",
        "library:work#1",
        "library:leaf#1",
        "library.other:write#1",
        "library.flag:write#2",
        "library:Tracer.make#1",
        "library:Tracer.trace#1",
        "library:Tracer.step#1",
    ]
    assert names_of(played) == names_of(played, 1)


@pytest.mark.parametrize("follow", FOLLOWS)
def test_outside_regions_there_are_no_entries(library, follow) -> None:
    assert names_of(play(library, follow, calls=True, within=False)) == [
        "library.flag:write#1",
        "library.other:write#1",
        "library.flag:write#2",
    ]


@pytest.mark.parametrize("follow", FOLLOWS)
def test_what_the_other_wrote_meanwhile_is_not_ones_own_write(library, follow) -> None:
    chooser = OneStop(thread=0, at="library.flag:write#1")
    played = play(library, follow, calls=False, chooser=chooser)
    assert chooser.reached
    # B found the flag set and set it to the same: nothing was written but the list.
    assert names_of(played, 1) == ["library.other:write#1"]
    assert names_of(played, 0)[-1] == "library.flag:write#2"


def test_a_tracer_that_was_there_comes_back(library) -> None:
    seen: list[object] = []

    def debugger(*_: object) -> None:
        return None

    def body() -> None:
        sys.settrace(debugger)
        with following():
            library.whole()
        seen.append(sys.gettrace())
        sys.settrace(None)

    current = Current()
    sight = Sight(owners=(), writes=Writes(_Watched(library), current), entries=None, below=())
    following, _ = settrace.follow(sight)
    Stage(current).play(Program(prepare=lambda: [body, lambda: None]), InOrder((0, 1)))
    assert seen == [debugger]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_where_every_tool_is_taken_that_is_said(library) -> None:
    free = [n for n in range(6) if sys.monitoring.get_tool(n) is None]
    for number in free:
        sys.monitoring.use_tool_id(number, "somebody")
    try:
        with pytest.raises(Blind, match="somebody"):
            play(library, followed.best, calls=True)
    finally:
        for number in free:
            sys.monitoring.free_tool_id(number)
    assert names_of(play(library, followed.best, calls=True))
