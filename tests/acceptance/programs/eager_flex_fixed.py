"""The same drafters with a lock round each whole step, attention and backward."""

from __future__ import annotations

import threading

import torch
from torch.nn.attention import flex_attention as flex

BOUND_S = 60
step = threading.Lock()

flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
flex._validate_device = lambda *_: None


def draft(score_mod) -> None:
    q = torch.ones(1, 1, 16, 16, requires_grad=True)
    with step:
        flex.flex_attention(q, q, q, score_mod=score_mod).sum().backward()


def main() -> None:
    mods = (lambda score, *_: score + 1, lambda score, *_: score * 2)
    threads = [
        threading.Thread(target=draft, args=(m,), name=f"drafter-{n}") for n, m in enumerate(mods)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(BOUND_S)


if __name__ == "__main__":
    main()
