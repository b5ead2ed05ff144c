"""Targets of the launch tests: each ends, or fails to end, in one particular way."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any


def nothing(trial: Any, recorder: Any) -> None:
    """Ends at once."""


def talks(trial: Any, recorder: Any) -> None:
    """Says where it is, on both streams and in the record."""
    print("out: hello")
    print("err: hello", file=sys.stderr)
    recorder.emit(
        "note",
        text="seat",
        session=os.getsid(0),
        pid=os.getpid(),
        inductor=os.environ["TORCHINDUCTOR_CACHE_DIR"],
        stdin=str(Path("/proc/self/fd/0").readlink()),
        descriptors=sorted(int(fd.name) for fd in Path("/proc/self/fd").iterdir()),
    )


def aborts(trial: Any, recorder: Any) -> None:
    """SIGABRT, with last words that are not UTF-8."""
    os.write(2, b"last words \xff\n")
    os.abort()


def exits_badly(trial: Any, recorder: Any) -> None:
    """A status of its own."""
    os._exit(9)


def closes_stdout(trial: Any, recorder: Any) -> None:
    """Breaks its own standard output and goes on."""
    os.close(1)
    recorder.emit("note", text="still here")


def deadlocks(trial: Any, recorder: Any) -> None:
    """Two threads, two locks, opposite order."""
    first, second = threading.Lock(), threading.Lock()
    both = threading.Barrier(2)

    def embrace(mine: threading.Lock, other: threading.Lock) -> None:
        with mine:
            both.wait()
            recorder.emit("note", text="holding")
            with other:
                pass

    threads = [
        threading.Thread(target=embrace, args=pair, name=f"drafter {i}")
        for i, pair in enumerate(((first, second), (second, first)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def deadlocks_deaf(trial: Any, recorder: Any) -> None:
    """As above, and ignores SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    deadlocks(trial, recorder)


def spins(trial: Any, recorder: Any) -> None:
    """Busy for ever, silent."""
    while True:
        pass


def chatters(trial: Any, recorder: Any) -> None:
    """Records for ever, never ends."""
    while True:
        recorder.emit("note", text="alive")
        time.sleep(0.02)


def waits_for_file(trial: Any, recorder: Any) -> None:
    """Alive until the file named in the settings exists."""
    while not Path(str(trial.settings["file"])).exists():
        recorder.emit("note", text="alive")
        time.sleep(0.02)


def leaves_children(trial: Any, recorder: Any) -> None:
    """Ends while processes it started go on: one in its group, one that left it, one forked."""
    sleeper = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    inside = subprocess.Popen(sleeper)
    outside = subprocess.Popen(sleeper, start_new_session=True)
    forked = os.fork()
    if not forked:
        time.sleep(600)
    recorder.emit("note", text="children", pids=[inside.pid, outside.pid, forked])


def forks_for_ever(trial: Any, recorder: Any) -> None:
    """A tree that keeps growing slowly, silent after the first line; ignores SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    recorder.emit("note", text="growing", pid=os.getpid())
    for _ in range(3):
        os.fork()
    while True:
        time.sleep(0.2)
        if not os.fork():
            time.sleep(600)


def crashes_in_c(trial: Any, recorder: Any) -> None:
    """A segmentation fault in a named thread."""
    thread = threading.Thread(target=ctypes.string_at, args=(1,), name="drafter 0")
    recorder.emit("note", text="about to")
    thread.start()
    thread.join()


def holds_a_child(trial: Any, recorder: Any) -> None:
    """``holds_children`` as a target."""
    holds_children()


def holds_children() -> None:
    """Goes on for ever beside two processes of its own, one of which left the group."""
    sleeper = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    subprocess.Popen(sleeper)
    subprocess.Popen(sleeper, start_new_session=True)
    cache = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    (cache.parent.parent / "holding").touch()
    threading.Event().wait()
