"""Inductor's cache key in a worker is that of the main thread's settings, which it does not have.

Settings are per thread, the remembered hash of them is the process's. The hash goes into the key
of compiled code on disk, so a worker stores and loads code under settings it never had.
Remedy: give workers the settings with copy_context().run.
"""

import contextvars
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import torch
import torch._inductor.config

HAZARD = {
    "title": "a worker's cache key is made of the main thread's settings",
    "layer": "inductor",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "WRONG",
    "remedy": "start workers in contextvars.copy_context().run, so that settings and hash agree",
    "since": "2.12",
    "fixed_in": "2.13",
    "evidence": {
        "2.6.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "WRONG 10 of 10; guarded CLEAN 10 of 10",
        "2.13.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
    },
    "silent": True,
}
BOUND_S = 90


def run(*, guarded):
    config = torch._inductor.config
    before = config.get_hash()
    config.max_autotune = not config.max_autotune
    changed = config.max_autotune
    assert config.get_hash() != before

    def working():
        return config.max_autotune == changed, config.get_hash() != before

    body = (contextvars.copy_context().run, working) if guarded else (working,)
    setting, key = ThreadPoolExecutor(1).submit(*body).result(BOUND_S)
    told = f"in the worker the setting is {'new' if setting else 'old'}, "
    told += f"the key that of the {'new' if key else 'old'} one"
    return ("CLEAN" if setting == key else "WRONG"), told


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
