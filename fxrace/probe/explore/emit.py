"""A schedule as a script anyone can run: torch and the standard library, about forty lines.

The script makes both subjects, starts two threads, and forces the collision with plain events: a
thread that comes to its next stop (told by ``sys.setprofile``) lets the other run until that one
ends or comes to a stop of its own. It exits with 66 when the symptom shows and 0 when not. It is
text made here and run elsewhere; nothing of fxrace is in it. It lives with the points because
their names are what it has to translate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from fxrace.probe.explore.choices import Stop
from fxrace.probe.explore.places import Place, place_of
from fxrace.probe.explore.sources import Source

LINES, WAIT_S = 40, 60
NAMES = ("A", "B")


class Shows(str, Enum):
    """What the script looks for at its end."""

    RAISED = "raised"
    """A thread raised that does not alone."""
    WRONG = "wrong"
    """A thread's result is another than alone."""
    LEFT = "left"
    """An attribute is not what it was before."""
    HUNG = "hung"
    """A thread has not ended."""


class CannotEmit(Exception):
    """No script can be written for this schedule. The text is the reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Collision:
    """What the script must bring about. ``who`` is A or B; ``attribute`` is ``module:path``."""

    title: str
    a: Source
    b: Source
    start: str
    stops: tuple[tuple[str, Place], ...]
    shows: Shows
    who: str = "B"
    attribute: str = ""


def placed(stops: Sequence[Stop]) -> tuple[tuple[str, Place], ...]:
    """The stops of two threads with their places. Raises CannotEmit where one has none."""
    found = []
    for stop in stops:
        place = place_of(stop.at)
        if place is None:
            raise CannotEmit(f"{stop.at} is no place that a plain script can stop at")
        if stop.thread > 1 or stop.to > 1:
            raise CannotEmit("more than two threads are left")
        found.append((NAMES[stop.thread], place))
    return tuple(found)


def script(collision: Collision, *, header: str = "") -> str:
    """The text. ``header`` is the sentence on how reliably it was seen to reproduce.

    Functions that only return something become one line each where that is needed to fit.
    """
    text = _written(collision, header, tight=False)
    return text if length(text) <= LINES else _written(collision, header, tight=True)


def _written(collision: Collision, header: str, *, tight: bool) -> str:
    a, b = ((one.tight if tight else one.body) for one in (collision.a, collision.b))
    writes = [place.event == "write" for _, place in collision.stops]
    stops = ",\n         ".join(_stop(who, place) for who, place in collision.stops)
    sections = [
        _docstring(collision, header),
        *_imports(collision, writes=any(writes)),
        *a,
        *(b if b != a else ()),
        f"STOPS = [{stops}]  # who stops where, in turn",
        *_baton(writes),
        *_main(collision),
    ]
    return "\n".join(sections) + "\n"


def length(text: str) -> int:
    """Lines, a licence at the top aside."""
    lines = text.rstrip("\n").split("\n")
    while lines and lines[0].startswith("#"):
        lines.pop(0)
    return len(lines)


def _docstring(collision: Collision, header: str) -> str:
    title = collision.title.replace("\\", "/").replace('"""', "'''")
    told = f"{header} " if header else ""
    return f'"""{title}\n\n{told}Exit 66: it reproduces. 0: it does not."""'


def _imports(collision: Collision, *, writes: bool) -> list[str]:
    usual = ["os", "sys", "threading"]
    if writes:
        usual.insert(0, "operator")
    if collision.shows is Shows.WRONG:
        usual.insert(-2, "re")
    modules = {place.module for _, place in collision.stops if place.event == "write"}
    modules |= {collision.attribute.partition(":")[0]} - {""}
    read = [f"import {one}" for one in sorted(modules) if one.startswith("torch.")]
    wanted = (*collision.a.imports, *collision.b.imports, "import torch", *read)
    lines = dict.fromkeys(wanted)
    return [
        f"import {', '.join(usual)}",
        "from concurrent.futures import ThreadPoolExecutor, wait",
        *lines,
    ]


def _stop(who: str, place: Place) -> str:
    return f'["{who}", "{place.event}", "{place.module}", "{place.name}", {place.visit}]'


_SEEN = """
value = lambda module, path: operator.attrgetter(path)(sys.modules[module])
SEEN = {tuple(stop[2:4]): value(*stop[2:4]) for stop in STOPS if stop[1] == "write"}
"""
_TOP = """
GO, pool = {"A": threading.Event(), "B": threading.Event()}, ThreadPoolExecutor(2)
def run(me, other, function, subject):
    def look(frame, event, _):
"""
_HERE = """
        here = [me, event, frame.f_globals.get("__name__")]
        name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
"""
_NEW = """
        new = {where: value(*where) for where in SEEN if value(*where) is not SEEN[where]}
        SEEN.update(new)
"""
_CALLED = """
        for stop in [s for s in STOPS if s[:3] == here and s[3].endswith(name)]:
"""
_WRITTEN = """
        for stop in [s for s in STOPS if s[0] == me and tuple(s[2:4]) in new]:
"""
_EITHER = """
        for stop in [s for s in STOPS if (s[:3] == here and s[3].endswith(name))
                     or (s[:2] == [me, "write"] and tuple(s[2:4]) in new)]:
"""
_BOTTOM = """
            stop[4] -= 1
            if stop is STOPS[0] and not stop[4]:
                STOPS.pop(0), GO[me].clear(), GO[other].set()
                GO[me].wait(5)  # bounded: the other may wait for a lock of ours
    GO[me].wait(60)
    sys.setprofile(look)
    try:
        return function(subject)
    finally:
        sys.setprofile(None), STOPS.clear(), GO[other].set()
"""


def _baton(writes: Sequence[bool]) -> list[str]:
    """As much of it as these stops need."""
    parts: tuple[str, ...]
    if not any(writes):
        parts = (_TOP, _HERE, _CALLED, _BOTTOM)
    elif all(writes):
        parts = (_SEEN, _TOP, _NEW, _WRITTEN, _BOTTOM)
    else:
        parts = (_SEEN, _TOP, _HERE, _NEW, _EITHER, _BOTTOM)
    return [line for part in parts for line in part.strip("\n").split("\n")]


def _main(collision: Collision) -> list[str]:
    before: list[str] = []
    if collision.shows is Shows.WRONG:
        side = collision.a if collision.who == "A" else collision.b
        before = [
            'told = lambda result: re.sub(r" at 0x\\w+", "", str(result))',
            f"alone = told({side.run}({side.prepare}))",
        ]
    if collision.shows is Shows.LEFT:
        before = [f"before = {_attribute(collision)}"]
    return [
        *before,
        f'a = pool.submit(run, "A", "B", {collision.a.run}, {collision.a.prepare})',
        f'b = pool.submit(run, "B", "A", {collision.b.run}, {collision.b.prepare})',
        f'GO["{collision.start}"].set()',
        f"hung = wait([a, b], {WAIT_S}).not_done",
        f"print({_shown(collision)}, flush=True)",
        f"os._exit(66 if {_test(collision)} else 0)",
    ]


def _attribute(collision: Collision) -> str:
    module, _, path = collision.attribute.partition(":")
    if not re.fullmatch(r"[\w.]+", f"{module}.{path}"):
        raise CannotEmit(f"{collision.attribute!r} is no attribute a script can read")
    return f"{module}.{path}"


def _shown(collision: Collision) -> str:
    who = collision.who.lower()
    if collision.shows is Shows.LEFT:
        return _attribute(collision)
    if collision.shows is Shows.WRONG:
        return f'told({who}.result(0)), "and alone", alone'
    if collision.shows is Shows.HUNG:
        return '"not ended:", len(hung)'
    return f"repr({who} not in hung and {who}.exception())"


def _test(collision: Collision) -> str:
    who = collision.who.lower()
    if collision.shows is Shows.LEFT:
        return f"{_attribute(collision)} is not before"
    if collision.shows is Shows.WRONG:
        return f"told({who}.result(0)) != alone"
    if collision.shows is Shows.HUNG:
        return "hung"
    return f"{who} not in hung and {who}.exception()"
