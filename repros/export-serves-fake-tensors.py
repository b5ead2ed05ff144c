"""A model that serves returns FakeTensors, because another thread exports it.

Export swaps the parameters of the module object for fake ones while it traces. A call of the
same module in another thread succeeds, and what it returns holds no numbers.
Remedy: export a deep copy.
"""

import copy
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

HAZARD = {
    "title": "a served model returns FakeTensors while another thread exports it",
    "layer": "export",
    "states": (),
    "regions": (),
    "patterns": (),
    "racy": "WRONG",
    "remedy": "export copy.deepcopy(model), never the object that serves",
    "since": "2.6",
    "evidence": {
        "2.6.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.12.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.13.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.14.1": "WRONG 5 of 5; guarded CLEAN 5 of 5",
        "2.15.0": "WRONG 5 of 5; guarded CLEAN 5 of 5",
    },
    "silent": True,
}
BOUND_S = 90


def during(stay, act):
    """Runs act in one thread while another stands in stay."""
    inside, moved = threading.Event(), threading.Event()

    def park():
        inside.set()
        assert moved.wait(BOUND_S)

    def second():
        assert inside.wait(BOUND_S)
        try:
            return act()
        finally:
            moved.set()

    pool = ThreadPoolExecutor(2)
    return pool.submit(stay, park), pool.submit(second)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.park = torch.nn.Linear(3, 3), None

    def forward(self, x):
        if self.park is not None:
            self.park()
        return self.layer(x)


def run(*, guarded):
    x, served = torch.ones(3), Model()
    expected = served(x)

    def exporting(park):
        model = copy.deepcopy(served) if guarded else served
        # The export alone is stopped: the served call finds no park any more.
        model.park = lambda: (setattr(model, "park", None), park())
        return torch.export.export(model, (x,), strict=False)

    exported, result = during(exporting, lambda: served(x))
    exported.result(BOUND_S)
    got = result.result(BOUND_S)
    if type(got) is torch.Tensor:
        assert torch.equal(got, expected)
        return "CLEAN", "the served call returned its numbers"
    return "WRONG", f"the served call returned a {type(got).__name__}"


if __name__ == "__main__":
    verdict, reason = run(guarded="--guarded" in sys.argv[1:])
    print(verdict, reason, flush=True)
    os._exit({"CLEAN": 0, "SKIPPED": 77}.get(verdict, 66))
