"""export in one thread (A), make_fx_real in another (B): A raises.

Reproduced 20/20 on torch 2.13.0+cpu, Python 3.11.7. Exit 66: it reproduces. 0: it does not."""
import os, sys, threading
from concurrent.futures import ThreadPoolExecutor, wait
import torch
import torch.export
from torch.fx.experimental.proxy_tensor import make_fx
def prepare_a():
    return torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
def run_a(subject):
    return torch.export.export(subject, (torch.ones(1, 2),), strict=False)
def prepare_b():
    return lambda x: (x.sin() * 2).sum()
def run_b(subject):
    return make_fx(subject)(torch.ones(3)).graph
STOPS = [["A", "call", "torch.fx.experimental.proxy_tensor", "wrap_key", 1],
         ["B", "call", "torch.fx.experimental.proxy_tensor", "wrap_key", 1]]  # who stops where, in turn
GO, pool = {"A": threading.Event(), "B": threading.Event()}, ThreadPoolExecutor(2)
def run(me, other, function, subject):
    def look(frame, event, _):
        here = [me, event, frame.f_globals.get("__name__")]
        name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
        for stop in [s for s in STOPS if s[:3] == here and s[3].endswith(name)]:
            stop[4] -= 1
            if stop is STOPS[0] and not stop[4]:
                STOPS.pop(0), GO[me].clear(), GO[other].set()
                GO[me].wait(5)  # bounded: the other may wait for a lock of ours
    GO[me].wait(60)
    sys.setprofile(look)
    try:
        return function(subject)
    finally:
        sys.setprofile(None), STOPS.clear(), GO[other].set()
a = pool.submit(run, "A", "B", run_a, prepare_a())
b = pool.submit(run, "B", "A", run_b, prepare_b())
GO["A"].set()
hung = wait([a, b], 60).not_done
print(repr(a not in hung and a.exception()), flush=True)
os._exit(66 if a not in hung and a.exception() else 0)
