"""Where a thread can be stopped at grain ``call``: the first entry of each torch function.

A profile function of one thread sees every call; the first of each code object inside torch is a
point, named ``torch/fx/graph.py:Graph.lint`` (``#2`` where another function has the same name).
Named and not numbered, so that a point survives a version. Code that torch generates is no point.

The surprise: inside a compiled call Dynamo is offered every new frame of the thread, ours too. It
must not compile the observer (and under some stances it refuses to), so the profile function is
marked as skipped and Dynamo is switched off for the thread while it stands at a point.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

At = Callable[[str, FrameType], None]


class Points:
    """A profile function (``sys.setprofile``). Calls ``at(name, frame)`` at each point, once.

    While ``each`` is set, it is called at every event instead: a thread that somebody waits for
    can so be caught just after it gave up a lock.
    """

    def __init__(self, at: At) -> None:
        import torch
        from torch._dynamo.eval_frame import skip_code

        self._root = str(Path(torch.__file__).parent)
        self._above = len(str(Path(self._root).parent)) + 1
        self._at = at
        self._set_eval_frame = torch._C._dynamo.eval_frame.set_eval_frame
        skip_code(Points.__call__.__code__)
        self._seen: dict[int, CodeType] = {}
        self._named: dict[str, int] = {}
        self.each: Callable[[], None] | None = None

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:  # noqa: ARG002
        if self.each is not None:
            before = self._set_eval_frame(None)
            try:
                self.each()
            finally:
                self._set_eval_frame(before)
        if event != "call":
            return
        code = frame.f_code
        if id(code) in self._seen:
            return
        self._seen[id(code)] = code
        if code.co_filename.startswith(self._root):
            before = self._set_eval_frame(None)
            try:
                self._at(self._name(code), frame)
            finally:
                self._set_eval_frame(before)

    def _name(self, code: CodeType) -> str:
        function = code.co_qualname if sys.version_info >= (3, 11) else code.co_name
        name = f"{code.co_filename[self._above :]}:{function}".replace("\\", "/")
        count = self._named[name] = self._named.get(name, 0) + 1
        return name if count == 1 else f"{name}#{count}"
