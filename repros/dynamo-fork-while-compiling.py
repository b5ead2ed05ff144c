"""A child forked while another thread compiles can never compile: it hangs.

fork copies compile_lock as held, and the thread that holds it does not exist in the child.
Anything that forks (DataLoader, multiprocessing, subprocess pools) does this.
Remedy: fork before any thread compiles, or use spawn.
"""

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # CUDA survives no fork, and this is not about it

import torch

HAZARD = {
    "title": "deadlock: a child forked during a compile inherits a held compile_lock",
    "layer": "inductor",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "HUNG",
    "remedy": "start workers before anything compiles, or with spawn or forkserver",
    "since": "2.6",
    "evidence": {
        "2.6.0": "HUNG 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "HUNG 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "HUNG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "HUNG 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "HUNG 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#108586", "pytorch/pytorch#121197"),
}
BOUND_S = 90
STUCK_S = 5


def child(x, *, limit_s):
    """In the child: a first compiled call; the alarm kills it when that hangs."""
    signal.alarm(limit_s)
    torch.compile(lambda x: x + 1, backend="eager")(x)
    os._exit(0)


def run(*, guarded):
    compiling, forked, x = threading.Event(), threading.Event(), torch.ones(3)
    torch.compile(lambda x: x - 1, backend="eager")(x)  # all of Dynamo is imported

    def backend(graph, _inputs):
        compiling.set()
        assert guarded or forked.wait(BOUND_S)
        return graph

    result = ThreadPoolExecutor(1).submit(torch.compile(lambda x: x * 2, backend=backend), x)
    assert compiling.wait(BOUND_S)
    if guarded:
        result.result(BOUND_S)
    process = os.fork()
    if process == 0:
        child(x, limit_s=BOUND_S if guarded else STUCK_S)
    forked.set()
    assert torch.equal(result.result(BOUND_S), x * 2)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if status == -signal.SIGALRM:
        return "HUNG", "child -> compile_lock -> a thread that exists in the parent only"
    assert status == 0, status
    return "CLEAN", "the child compiled"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
