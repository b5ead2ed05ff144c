"""Runs somebody's program as its interpreter would have, with fxrace's hooks attached to torch.

The interpreter has been started with ``-c``; this puts the program into that very ``__main__``,
so that pickling, daemon threads and the end of the interpreter are those of a plain run. An
error that leaves the program is shown by the program's own ``sys.excepthook`` without our
frames. The surprise: nothing here decides how the process ends. ``sys.exit``, ``os._exit``, a
signal: each takes its normal road, and the record is on disk already.
"""

from __future__ import annotations

import atexit
import builtins
import faulthandler
import io
import os
import runpy
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import TracebackType
from typing import Any

from fxrace import guards
from fxrace.probe.confine import STACKS
from fxrace.probe.failure import described
from fxrace.probe.first_import import when_imported
from fxrace.probe.lookout import Lookout
from fxrace.probe.own_record import OwnRecord
from fxrace.probe.uncaught import record_uncaught

MODULE, SCRIPT = "module", "script"
_HERE = str(Path(__file__).parent) + os.sep


def main(directory: str, pressure: str, seed: str, kind: str, name: str, *words: str) -> None:
    """Run script or module ``name`` with arguments ``words``; record into ``directory``."""
    record = OwnRecord(Path(directory))
    recorder = record.recorder
    recorder.emit("phase", name="setup")
    _arm_stacks(Path(directory))
    atexit.register(recorder.emit, "phase", name="end")  # the first one runs last
    lookout = Lookout(record, pressure=pressure, seed=seed)
    record_uncaught(recorder, lookout.others)
    when_imported("torch", lambda: _begin(lookout))
    sys.argv[:] = [name, *words]
    run = _module(name) if kind == MODULE else _script(name)
    try:
        run()
    except SystemExit:
        raise
    except BaseException as error:
        recorder.emit("raised", role="main", error=described(error), others=lookout.others())
        _show_as_the_interpreter_would(error)
        raise


def _begin(lookout: Lookout) -> None:
    """The guards that ``FXRACE_GUARD`` names, then the hooks, so that these see guarded torch."""
    guards.install(*guards.named_in_environment())
    lookout.begin()


def _module(name: str) -> Callable[[], None]:
    """``python -m name``."""
    _put_on_path(str(Path.cwd()))
    _blank_main()

    def run() -> None:
        runpy._run_module_as_main(name, alter_argv=True)  # type: ignore[attr-defined]

    return run


def _script(name: str) -> Callable[[], None]:
    """``python name``: a file, or a folder or archive with a ``__main__`` in it."""
    path = Path(name)
    main = _blank_main()
    if path.is_dir() or _is_archive(path):
        _put_on_path(name)
        return lambda: runpy._run_module_as_main("__main__", alter_argv=False)  # type: ignore[attr-defined]
    _put_on_path(str(path.absolute().parent.resolve()))
    main.update(__file__=name, __loader__=SourceFileLoader("__main__", name))

    def run() -> None:
        with io.open_code(str(path.absolute())) as file:
            code = compile(file.read(), name, "exec", dont_inherit=True)
        exec(code, main)

    return run


def _is_archive(path: Path) -> bool:
    import zipfile

    return path.suffix not in {".py", ""} and path.is_file() and zipfile.is_zipfile(path)


def _put_on_path(first: str) -> None:
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, first)


def _blank_main() -> dict[str, Any]:
    """The interpreter's ``__main__``, emptied of what started us."""
    space = vars(sys.modules["__main__"])
    space.clear()
    space.update(
        __name__="__main__", __doc__=None, __package__=None, __spec__=None,
        __builtins__=builtins,
    )  # fmt: skip
    return space


def _show_as_the_interpreter_would(error: BaseException) -> None:
    """Print the traceback from the program's first frame on; what follows prints nothing."""
    at: BaseException | None = error
    seen: set[int] = set()
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        at.__traceback__ = _without_ours(at.__traceback__)
        at = at.__cause__ or at.__context__
    sys.excepthook(type(error), error, error.__traceback__)
    sys.excepthook = lambda *_: None


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without this file and without the hooks that a call went through."""
    while trace is not None and _ours(trace):
        trace = trace.tb_next
    at = trace
    while at is not None and at.tb_next is not None:
        if _ours(at.tb_next):
            at.tb_next = at.tb_next.tb_next
        else:
            at = at.tb_next
    return trace


def _ours(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(_HERE)


def _arm_stacks(directory: Path) -> None:
    """A process that dies of a signal leaves its threads' stacks beside the record."""
    if faulthandler.is_enabled():  # the user's own choice: PYTHONFAULTHANDLER
        return
    file = os.open(directory / STACKS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    faulthandler.enable(file=file, all_threads=True)
