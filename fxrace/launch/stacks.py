"""Takes the stacks of a stuck trial, by two independent roads.

faulthandler inside the trial needs no rights but knows no thread names and cuts deep stacks;
py-spy from outside knows names and the holder of the interpreter lock but needs the right to
trace. py-spy's answer is preferred; when it is refused the other serves, and ``blind`` says so.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from fxrace.launch import faulthandler_text, py_spy
from fxrace.launch.folder import TrialFolder
from fxrace.records.outcome import ThreadStack

WRITTEN_S = 0.6
NAMES_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Stacks:
    """What could be taken, and (what, reason) for what could not."""

    threads: tuple[ThreadStack, ...] = ()
    blind: tuple[tuple[str, str], ...] = ()


def take(folder: TrialFolder, pid: int, ask: Callable[[], None], *, gil: bool) -> Stacks:
    """Stacks of process ``pid``; ``ask`` makes it write its own into ``folder.stacks``.

    Takes at most a few seconds (the sum of two bounded waits), normally a tenth of one.
    """
    before = _size(folder)
    ask()
    _await_growth(folder, before)
    blind = []
    try:
        if not gil:
            raise py_spy.Refused("it cannot read an interpreter without a global lock")
        raw = py_spy.dump(pid)
        folder.py_spy.write_text(raw)
        return Stacks(threads=py_spy.parse(raw))
    except (py_spy.Refused, OSError) as refusal:
        blind.append(("py-spy", f"{refusal}; stacks are faulthandler's"))
    threads = written(folder, offset=before)
    if not threads:
        blind.append(("stacks", "the process wrote none when asked"))
    return Stacks(threads=threads, blind=tuple(blind))


def written(folder: TrialFolder, offset: int = 0) -> tuple[ThreadStack, ...]:
    """What faulthandler wrote from byte ``offset`` on, named by the trial's own record."""
    try:
        text = folder.stacks.read_bytes()[offset:].decode("utf-8", "replace")
    except OSError:
        return ()
    names = _names(folder)
    return tuple(
        replace(thread, thread=names.get(thread.ident, thread.thread))
        for thread in faulthandler_text.parse(text)
    )


def _await_growth(folder: TrialFolder, before: int) -> None:
    """Wait until the dump has begun and a further look finds nothing new. Bounded."""
    until, last = time.monotonic() + WRITTEN_S, before
    while time.monotonic() < until:
        time.sleep(0.02)
        size = _size(folder)
        if size > before and size == last:
            return
        last = size


def _size(folder: TrialFolder) -> int:
    try:
        return folder.stacks.stat().st_size
    except OSError:
        return 0


def _names(folder: TrialFolder) -> dict[int | None, str]:
    """ident -> thread name, as last recorded."""
    names: dict[int | None, str] = {}
    try:
        with folder.events.open("rb") as file:
            lines = file.read(NAMES_BYTES).splitlines()
    except OSError:
        return names
    for line in lines:
        try:
            event = json.loads(line)
            names[event["ident"]] = event["thread"]
        except (ValueError, KeyError, TypeError):
            continue
    return names
