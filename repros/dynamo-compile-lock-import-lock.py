"""A compile imports a module while another thread imports it and compiles: deadlock.

B imports a module whose top level calls a compiled function: it holds the module's import lock
and wants compile_lock. A compiles, holds compile_lock, and imports the same module. Python
detects circles of import locks only. Remedy: no compiled call at import, or import it first.
"""

import importlib
import os
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from pathlib import Path

import torch
from torch._dynamo import convert_frame

HAZARD = {
    "title": "deadlock: compile_lock against the import lock of a module that compiles",
    "layer": "dynamo",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "HUNG",
    "remedy": "no compiled call at the top level of a module; import first, then start threads",
    "since": "2.6",
    "evidence": {
        "2.6.0": "HUNG 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "HUNG 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "HUNG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "HUNG 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "HUNG 5 of 5; guarded CLEAN 5 of 5",
    },
}
BOUND_S = 90
STUCK_S = 3


class Asked:
    """compile_lock, saying when a thread that does not hold it asks for it."""

    def __init__(self, lock, waits):
        self.lock, self.waits, self.owner = lock, waits, None

    def __enter__(self):
        if self.owner not in (None, threading.get_ident()):
            self.waits.set()
        self.lock.acquire()
        self.owner = threading.get_ident()

    def __exit__(self, *error):
        self.lock.release()


SOURCE = """
import torch
from __main__ import NOTES
NOTES["importing"].set()
assert NOTES["compiling"].wait(90)
torch.compile(lambda x: x + 1, backend="eager")(torch.ones(3))
"""
NOTES = {"importing": threading.Event(), "compiling": threading.Event()}


def run(*, guarded):
    x, pool, wants, stuck = torch.ones(3), ThreadPoolExecutor(2), threading.Event(), []
    folder = tempfile.TemporaryDirectory()
    sys.path.insert(0, folder.name)
    (Path(folder.name) / "warmed.py").write_text(SOURCE)
    if guarded:
        NOTES["compiling"].set()
        importlib.import_module("warmed")
    convert_frame.compile_lock = Asked(convert_frame.compile_lock, wants)

    def backend(graph, _inputs):
        NOTES["compiling"].set()
        assert guarded or wants.wait(BOUND_S)
        helper = ThreadPoolExecutor(1).submit(importlib.import_module, "warmed")
        try:
            helper.result(BOUND_S if guarded else STUCK_S)  # an own import could not be given up
        except TimeoutError:
            stuck.append("warmed")
        return graph

    imported = pool.submit(importlib.import_module, "warmed")
    assert NOTES["importing"].wait(BOUND_S)
    result = pool.submit(torch.compile(lambda x: x * 2, backend=backend), x)
    assert torch.equal(result.result(BOUND_S), x * 2)
    assert imported.result(BOUND_S).__name__ == "warmed"
    folder.cleanup()
    if stuck:
        return "HUNG", "compile -> import lock of warmed -> its importer -> compile_lock -> compile"
    return "CLEAN", "the backend imported the module"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
