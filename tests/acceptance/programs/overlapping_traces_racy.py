"""Two threads trace at once and leave in the order in which they came.

In the style of pytorch/pytorch#189884: the second to leave restores what the first had put in
place, and the process stays patched. Each thread keeps its error to itself, as a pool does.
"""

from __future__ import annotations

import threading

import torch

BOUND_S = 60
first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()


class First(torch.nn.Module):
    def forward(self, x):
        first_in.set()
        assert second_in.wait(BOUND_S)
        return x + 1


class Second(torch.nn.Module):
    def forward(self, x):
        second_in.set()
        assert first_out.wait(BOUND_S)
        return x * 2


def quietly(model: torch.nn.Module, done: threading.Event) -> None:
    try:
        torch.fx.Tracer().trace(model)
    except Exception as error:
        print(type(error).__name__)
    finally:
        done.set()


def main() -> None:
    first = threading.Thread(target=quietly, args=(First(), first_out), name="first")
    first.start()
    assert first_in.wait(BOUND_S)
    second = threading.Thread(target=quietly, args=(Second(), threading.Event()), name="second")
    second.start()
    for thread in (first, second):
        thread.join(BOUND_S)


if __name__ == "__main__":
    main()
