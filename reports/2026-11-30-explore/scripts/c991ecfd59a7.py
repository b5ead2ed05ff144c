"""export_save_load in one thread (A), export_save_load in another (B): B raises.

Reproduced 20/20 on torch 2.13.0+cpu, Python 3.11.7. Exit 66: it reproduces. 0: it does not."""
import os, sys, threading
from concurrent.futures import ThreadPoolExecutor, wait
import io
import torch
import torch.export
def prepare_a():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    return torch.export.export(model, (torch.ones(1, 2),), strict=False)
def run_a(subject):
    stream = io.BytesIO()
    torch.export.save(subject, stream)
    stream.seek(0)
    return torch.export.load(stream)
STOPS = [["A", "call", "torch._subclasses.fake_tensor", "FakeTensorMode.is_infra_mode", 1]]  # who stops where, in turn
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
b = pool.submit(run, "B", "A", run_a, prepare_a())
GO["A"].set()
hung = wait([a, b], 60).not_done
print(repr(b not in hung and b.exception()), flush=True)
os._exit(66 if b not in hung and b.exception() else 0)
