"""Which plain locks the current thread holds, read from its stack: ``with lock:`` blocks it is in.

A lock made by ``threading.Lock`` is C: it can neither be wrapped nor says who holds it, and to
replace the factory for the whole process would change the program. But whoever is in the body of
``with self.lock:`` holds it, and the frame's line tells that. So the locks are looked for where it
matters, at the first border of a region, in the program's own functions. What is acquired and
released by calls stays unseen: that can only make ordered threads look unordered.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
import sysconfig
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

FRAMES_SEEN = 100
_LOCK, _RLOCK = type(threading.Lock()), type(threading.RLock())
_MISSING = object()
_OURS = str(Path(__file__).parents[1])
#: (first line of the body, last line, what is held) of each block of a function.
Block = tuple[int, int, ast.expr]
_blocks: dict[CodeType, tuple[Block, ...]] = {}


def held_now() -> list[Any]:
    """The locks whose ``with`` the current thread is in, outermost last, each once."""
    found: list[Any] = []
    frame: FrameType | None = sys._getframe(1)
    for _ in range(FRAMES_SEEN):
        if frame is None:
            break
        blocks = _blocks.get(frame.f_code)
        if blocks is None:
            blocks = _blocks[frame.f_code] = _found(frame.f_code)
        for first, last, what in blocks:
            if first <= (frame.f_lineno or 0) <= last:
                lock = _taken(_value(what, frame))
                if lock is not None and not any(lock is one for one in found):
                    found.append(lock)
        frame = frame.f_back
    return found


def _taken(value: Any) -> Any:
    """The plain lock behind the value, if somebody holds it; in its block, that is this thread."""
    if isinstance(value, threading.Condition):
        value = value._lock  # type: ignore[attr-defined]
    if isinstance(value, _LOCK):
        return value if value.locked() else None
    return value if isinstance(value, _RLOCK) and value._is_owned() else None  # type: ignore[attr-defined]


def _value(what: ast.expr, frame: FrameType) -> Any:
    """A name or a chain of attributes, looked up without running any code of the program."""
    if isinstance(what, ast.Name):
        return frame.f_locals.get(what.id, frame.f_globals.get(what.id, _MISSING))
    if not isinstance(what, ast.Attribute):
        return _MISSING
    holder = _value(what.value, frame)
    if holder is _MISSING:
        return _MISSING
    if isinstance(holder, ModuleType):
        return vars(holder).get(what.attr, _MISSING)
    return inspect.getattr_static(holder, what.attr, _MISSING)


def _found(code: CodeType) -> tuple[Block, ...]:
    """The ``with`` blocks of a function of the program; none of torch's, Python's and our own.

    What stands where a source should be may be anything, and parsing it may fail in any way.
    """
    if code.co_filename.startswith((*_LIBRARIES, _OURS, "<frozen")):
        return ()
    try:
        return _blocks_of(code)
    except Exception:
        return ()


def _blocks_of(code: CodeType) -> tuple[Block, ...]:
    file = code.co_filename
    lines = linecache.getlines(file)
    if code.co_name != "<module>":
        lines = inspect.getblock(lines[code.co_firstlineno - 1 :])
    text = textwrap.dedent("".join(lines))
    if "with " not in text:
        return ()
    tree = ast.parse(text)
    shift = code.co_firstlineno - 1 if code.co_name != "<module>" else 0
    body = tree.body[0] if code.co_name != "<module>" and tree.body else tree
    return tuple(
        (block.body[0].lineno + shift, (block.end_lineno or 0) + shift, item.context_expr)
        for block in _withs(body)
        for item in block.items
    )


def _withs(node: ast.AST) -> Iterator[ast.With]:
    """Those of this function, not of the functions inside it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.With):
            yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield from _withs(child)


_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
