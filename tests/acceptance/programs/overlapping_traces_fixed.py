"""The same two traces, one after the other: the second thread waits for the first to be done."""

from __future__ import annotations

import threading

import torch

BOUND_S = 60
first_out = threading.Event()


class First(torch.nn.Module):
    def forward(self, x):
        return x + 1


class Second(torch.nn.Module):
    def forward(self, x):
        return x * 2


def first() -> None:
    torch.fx.Tracer().trace(First())
    first_out.set()


def second() -> None:
    assert first_out.wait(BOUND_S)
    torch.fx.Tracer().trace(Second())


def main() -> None:
    threads = [threading.Thread(target=work, name=work.__name__) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)


if __name__ == "__main__":
    main()
