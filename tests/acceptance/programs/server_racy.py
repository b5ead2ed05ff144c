"""A server loads a traced model on one thread while another serves a compiled one.

In the style of pytorch/pytorch#126024: loading a GraphModule traces it again, and meanwhile
every compiled call in the process is refused. torch 2.13 and older.
"""

from __future__ import annotations

import pickle
import threading

import torch

BOUND_S = 60
loading, served = threading.Event(), threading.Event()


class Loader(torch.fx.Tracer):
    """Traces as usual; while it loads, requests go on."""

    def create_node(self, *args, **kwargs):
        if threading.current_thread().name == "loader":
            loading.set()
            served.wait(BOUND_S)
        return super().create_node(*args, **kwargs)


class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1


def saved() -> bytes:
    tracer = Loader()
    return pickle.dumps(torch.fx.GraphModule(Model(), tracer.trace(Model())))


def main() -> None:
    content = saved()
    answer = torch.compile(lambda x: x * 2, backend="eager")
    answer(torch.ones(2))
    loader = threading.Thread(target=pickle.loads, args=(content,), name="loader")
    loader.start()
    assert loading.wait(BOUND_S)
    try:
        answer(torch.ones(2))
    except RuntimeError as error:
        print("request failed:", error)  # a server logs it and goes on
    finally:
        served.set()
    loader.join(BOUND_S)


if __name__ == "__main__":
    main()
