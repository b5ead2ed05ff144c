"""make_fx_real in one thread (A), make_fx_real in another (B): torch.fx.experimental.proxy_tensor._CURRENT_MAKE_FX_TRACER is not put back.

Reproduced 20/20 on torch 2.13.0+cpu, Python 3.11.7. Exit 66: it reproduces. 0: it does not."""
import os, sys, threading
from concurrent.futures import ThreadPoolExecutor, wait
import torch
from torch.fx.experimental.proxy_tensor import make_fx
import torch.fx.experimental.proxy_tensor
def prepare_a():
    return lambda x: (x.sin() * 2).sum()
def run_a(subject):
    return make_fx(subject)(torch.ones(3)).graph
STOPS = [["A", "call", "torch.fx.graph_module", "GraphModule.graph", 2],
         ["B", "call", "torch.fx.graph_module", "GraphModule.graph", 2]]  # who stops where, in turn
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
before = torch.fx.experimental.proxy_tensor._CURRENT_MAKE_FX_TRACER
a = pool.submit(run, "A", "B", run_a, prepare_a())
b = pool.submit(run, "B", "A", run_a, prepare_a())
GO["A"].set()
hung = wait([a, b], 60).not_done
print(torch.fx.experimental.proxy_tensor._CURRENT_MAKE_FX_TRACER, flush=True)
os._exit(66 if torch.fx.experimental.proxy_tensor._CURRENT_MAKE_FX_TRACER is not before else 0)
