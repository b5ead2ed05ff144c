"""Two threads inside one config.patch object: the second one fails an assertion.

A patch object, as a decorator of a library function is, keeps the values to put back in itself.
B enters what A has entered. Remedy: make the patch object inside the function that uses it.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
import torch._dynamo

HAZARD = {
    "title": "one config.patch object entered by two threads fails an assertion",
    "layer": "config",
    "states": ("dynamo.config",),
    "regions": ("config",),
    "patterns": ("overlap", "race"),
    "racy": "RAISED",
    "remedy": "one patch object per use: with config.patch(...) inside the function",
    "since": "2.6",
    "fixed_in": "2.12",
    "evidence": {
        "2.6.0": "RAISED 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#179345",),
}
BOUND_S = 90


def nested(first, second):
    """One enters, two enters and leaves, one leaves."""
    entered, left = threading.Event(), threading.Event()

    def one():
        return first(lambda: (entered.set(), left.wait(BOUND_S)))

    def two():
        assert entered.wait(BOUND_S)
        try:
            return second(lambda: None)
        finally:
            left.set()

    pool = ThreadPoolExecutor(2)
    return pool.submit(one), pool.submit(two)


def run(*, guarded):
    shared = torch._dynamo.config.patch(suppress_errors=True)

    def body(park):
        with torch._dynamo.config.patch(suppress_errors=True) if guarded else shared:
            park()

    for one in nested(body, body):
        error = one.exception(BOUND_S)
        if isinstance(error, AssertionError):
            return "RAISED", f"AssertionError: {error or 'prior is not empty'}"
        one.result()
    return "CLEAN", "both threads entered and left"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
