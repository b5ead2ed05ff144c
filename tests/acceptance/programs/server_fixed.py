"""The same server with one lock round everything that traces or runs compiled code."""

from __future__ import annotations

import pickle
import threading

import torch

BOUND_S = 60
lock, started = threading.Lock(), threading.Event()


class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1


def load(content: bytes) -> None:
    started.set()
    with lock:
        pickle.loads(content)


def main() -> None:
    content = pickle.dumps(torch.fx.symbolic_trace(Model()))
    answer = torch.compile(lambda x: x * 2, backend="eager")
    answer(torch.ones(2))
    loader = threading.Thread(target=load, args=(content,), name="loader")
    loader.start()
    assert started.wait(BOUND_S)
    with lock:
        print(answer(torch.ones(2)))
    loader.join(BOUND_S)


if __name__ == "__main__":
    main()
