"""A compile in a second thread crashes the process once the first thread that compiled has ended.

In a build with CUDA that sees no GPU, FakeTensorMode puts a device guard that does nothing into a
process-wide table. The object belongs to the thread that came first and is freed with it; the next
one that enters the mode calls a method of what is left. No two threads run at the same time.
Remedy: compile something on a thread that stays, the main one, before any other does.
"""

import os
import resource
import signal
import sys
import threading

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # a machine with GPUs is not affected

import torch

HAZARD = {
    "title": "a compile crashes after the thread that compiled first has ended, without a GPU",
    "layer": "dynamo",
    "states": (),
    "regions": ("fake",),
    "patterns": ("crash",),
    "racy": "CRASHED",
    "remedy": "compile once on the main thread first, or use a build of torch without CUDA",
    "since": "2.10",
    "fixed_in": "2.12",
    "evidence": {
        "2.10.0": "CRASHED 5 of 5; guarded CLEAN 5 of 5",
        "2.11.0": "CRASHED 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "CLEAN 5 of 5; guarded CLEAN 5 of 5",
    },
    "references": ("pytorch/pytorch#160532", "pytorch/pytorch#178950"),
}
BOUND_S = 90


def compiling(x, step):
    """Each step is a compile of its own."""
    assert torch.equal(torch.compile(lambda x: x * 2 + step, backend="eager")(x), x * 2 + step)


def child(x, *, guarded):
    """Compiles in one thread and, when that is gone, in another."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(BOUND_S)
    if guarded:
        compiling(x, 0)
    done = []
    for step in (1, 2):
        thread = threading.Thread(target=lambda step=step: done.append(compiling(x, step)))
        thread.start()
        thread.join(BOUND_S)
    os._exit(0 if len(done) == 2 else 1)


def run(*, guarded):
    if not torch.backends.cuda.is_built() or torch.cuda.is_available():
        return "SKIPPED", "needs a build of torch with CUDA that sees no GPU"
    process = os.fork()
    if process == 0:
        child(torch.ones(3), guarded=guarded)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if status == -signal.SIGSEGV:
        return "CRASHED", "SIGSEGV in the second thread, which began after the first had ended"
    assert status == 0, status
    return "CLEAN", "both threads compiled"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
