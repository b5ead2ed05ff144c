"""Says what a running process waits for, from outside, whoever started it.

Two looks a second apart tell what stands from what moves; each pauses the process for some tens of
milliseconds and changes nothing in it. Only when somebody waits in native code is a third,
slower look taken, which names the native function.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fxrace.core.stand import IMPORT_LOCK, stack_waits
from fxrace.core.stuck import Conclusion, Look, at_rest, concluded
from fxrace.core.waits import Hold, Wait, in_backward, open_waits
from fxrace.errors import NoSuchProcess, NotPython, StacksRefused
from fxrace.launch import lock_sites, native, py_spy
from fxrace.launch.record_file import read_trace
from fxrace.launch.threads_of import Kernel, kernel_view, record_of
from fxrace.records.document import DumpDocument
from fxrace.records.outcome import ThreadStack
from fxrace.records.stuck import Classification, Edge, Motion, ThreadRow

DUMP_SCHEMA, SCHEMA_VERSION = "fxrace.dump", 1
PAUSE_S = 1.0
BUSY_SHARE = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class _Glance:
    """One look: py-spy's threads by name, as read and as records, and the kernel's view."""

    at: float
    plain: Mapping[str, dict[str, Any]]
    stacks: tuple[ThreadStack, ...]
    kernel: Mapping[int, Kernel]


def document_of(pid: int, *, record: Path | None = None, pause_s: float = PAUSE_S) -> DumpDocument:
    """Look twice, ``pause_s`` seconds apart, and conclude.

    ``record`` is the process's ``events.jsonl``; None looks whether it holds one open. Raises
    NoSuchProcess, NotPython, StacksRefused.
    """
    began = time.monotonic()
    first = _glance(pid)
    time.sleep(pause_s)
    second = _glance(pid)
    motion = _motion(first, second)
    found = record or record_of(pid)
    told = open_waits(read_trace(found)) if found is not None else ()
    waits, holds = _read(second, motion)
    conclusion = concluded(
        Look(stacks=second.stacks, motion=motion, waits=(*told, *waits), holds=holds)
    )
    leaves, blind = _leaves(pid, second, conclusion)
    return DumpDocument(
        schema=DUMP_SCHEMA,
        schema_version=SCHEMA_VERSION,
        pid=pid,
        classification=conclusion.classification,
        reason=conclusion.reason,
        circle=_edges(conclusion.ring, second),
        waits=_edges(conclusion.waits, second),
        threads=tuple(
            _row(stack, motion[stack.thread], conclusion, leaves.get(stack.thread, ""))
            for stack in second.stacks
        ),
        record=str(found) if found is not None else None,
        pause_s=pause_s,
        duration_s=round(time.monotonic() - began, 3),
        blind=blind,
    )


def _glance(pid: int) -> _Glance:
    try:
        text = py_spy.dump(pid, "--locals")
        threads = _named(json.loads(text))
        stacks = py_spy.parse(json.dumps(list(threads.values())))
    except py_spy.Refused as refusal:
        raise _refused(pid, str(refusal)) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StacksRefused(f"py-spy answered in an unknown form ({error!r})") from None
    return _Glance(at=time.monotonic(), plain=threads, stacks=stacks, kernel=kernel_view(pid))


def _named(threads: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By name; threads of one name get their ident behind it, so that a name is one thread."""
    many = Counter(thread.get("thread_name") for thread in threads)
    named = {}
    for thread in threads:
        name, ident = thread.get("thread_name"), f"{thread['thread_id']:#x}"
        if not name or many[name] > 1:
            name = f"{name or 'thread'} {ident}"
        named[name] = {**thread, "thread_name": name}
    return named


def _refused(pid: int, reason: str) -> NoSuchProcess | NotPython | StacksRefused:
    """Why py-spy gave nothing, as what the user can do about it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return NoSuchProcess(f"there is no process {pid}", remedy="check the PID")
    except (PermissionError, OverflowError):
        pass
    lower = reason.lower()
    if "permission" in lower or "not permitted" in lower:
        return StacksRefused(
            f"this user may not read process {pid}",
            remedy="run fxrace dump as its owner or as root, with the right to trace "
            "(kernel.yama.ptrace_scope=0; in a container --cap-add SYS_PTRACE)",
        )
    if "python version" in lower or "python interpreter" in lower:
        return NotPython(f"process {pid} is no Python that py-spy can read", remedy="check the PID")
    return StacksRefused(f"process {pid} cannot be read: {reason}", remedy="try again")


def _motion(first: _Glance, second: _Glance) -> dict[str, Motion]:
    """Who ran between the looks: another stack, or processor time, or on a processor twice."""
    elapsed = max(second.at - first.at, 0.001)
    found = {}
    for name, plain in second.plain.items():
        before = first.plain.get(name)
        tid = plain.get("os_thread_id") or 0
        was, now = first.kernel.get(tid), second.kernel.get(tid)
        if was is not None and now is not None:
            busy = now.cpu_s - was.cpu_s > BUSY_SHARE * elapsed
        else:
            busy = bool(plain.get("active") and before and before.get("active"))
        same = before is not None and _places(before) == _places(plain)
        found[name] = Motion.STILL if same and not busy else Motion.RUNS
    return found


def _places(plain: Mapping[str, Any]) -> list[tuple[str, int]]:
    return [(frame["filename"], frame["line"]) for frame in plain["frames"]]


def _read(
    glance: _Glance, motion: Mapping[str, Motion]
) -> tuple[tuple[Wait, ...], tuple[Hold, ...]]:
    """What the source code tells of threads whose stacks do not, and who holds what they want."""
    frames: dict[str, Sequence[dict[str, Any]]] = {
        name: plain["frames"] for name, plain in glance.plain.items()
    }
    told = {wait.waiter for wait in stack_waits(glance.stacks) if wait.lock != IMPORT_LOCK}
    told |= {stack.thread for stack in glance.stacks if in_backward(stack)}
    waits: list[Wait] = list(lock_sites.joins_in(frames))
    for name, stack in frames.items():
        kernel = glance.kernel.get(glance.plain[name].get("os_thread_id") or 0)
        able = kernel is None or kernel.may_wait_for_lock
        if motion[name] is Motion.STILL and able and name not in told:
            waits.extend(lock_sites.waits_in(name, stack))
    roots = lock_sites.roots_of(waits)
    return tuple(waits), tuple(
        hold for name, stack in frames.items() for hold in lock_sites.holds_in(name, stack, roots)
    )


def _leaves(
    pid: int, glance: _Glance, conclusion: Conclusion
) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """Where threads stand in native code, named as well as can be had in a bounded time."""
    resting = {stack.thread for stack in at_rest(glance.stacks, conclusion.waits)}
    tids = {name: glance.plain[name].get("os_thread_id") or 0 for name in resting}
    channels = {n: glance.kernel[t].channel for n, t in tids.items() if t in glance.kernel}
    if conclusion.classification is not Classification.EXTERNAL_WAIT:
        return channels, ()
    try:
        by_tid = native.leaves(pid)
    except py_spy.Refused as refusal:
        return channels, (("native stacks", str(refusal)),)
    return channels | {n: by_tid[t] for n, t in tids.items() if by_tid.get(t)}, ()


def _edges(waits: Sequence[Wait], glance: _Glance) -> tuple[Edge, ...]:
    stacks = {stack.thread: stack.frames for stack in glance.stacks}
    return tuple(
        Edge(waiter=w.waiter, waits_for=w.lock, held_by=w.owner, stack=stacks.get(w.waiter, ()))
        for w in waits
    )


def _row(stack: ThreadStack, motion: Motion, conclusion: Conclusion, leaf: str) -> ThreadRow:
    wait = next((w for w in conclusion.waits if w.waiter == stack.thread), None)
    wanted = {wait.lock for wait in conclusion.waits}
    held = (
        hold.lock
        for hold in conclusion.holds
        if hold.owner == stack.thread and (hold.lock in wanted or "lock" in hold.lock.lower())
    )
    return ThreadRow(
        thread=stack.thread,
        ident=stack.ident,
        motion=motion,
        holds_gil=stack.holds_gil,
        waits_for=wait.lock if wait else None,
        held_by=wait.owner if wait else None,
        holds=tuple(dict.fromkeys(held)),
        leaf=leaf,
        stack=stack.frames,
    )
