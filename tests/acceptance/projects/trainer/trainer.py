"""One thread per replica; each captures its loss as a graph before it trains on it."""

import threading
from contextlib import nullcontext

import torch
import torch._dynamo  # or the first make_fx does it
from torch.fx.experimental.proxy_tensor import make_fx

capturing = nullcontext()


def loss(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return sum((part @ weight).square().mean() for part in x.chunk(2))


class Replica:
    def __init__(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.weight = torch.rand(4, 4, generator=generator)
        self.batch = torch.rand(8, 4, generator=generator)

    def step(self) -> float:
        with capturing:
            graph = make_fx(loss)(self.weight, self.batch)
        return float(graph(self.weight, self.batch))


def train(replicas: list[Replica]) -> list[float]:
    losses = [0.0] * len(replicas)

    def work(at: int) -> None:
        losses[at] = replicas[at].step()

    threads = [threading.Thread(target=work, args=(at,)) for at in range(len(replicas))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return losses
