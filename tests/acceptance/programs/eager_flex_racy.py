"""Drafter threads that train with uncompiled flex_attention.

For its gradient, eager flex_attention traces the score function anew on every call. The first
drafter stands in that trace until the second is in its own, and leaves first: the second then
finds the patches of a trace that is gone. In the style of pytorch/pytorch#187589.
"""

from __future__ import annotations

import threading

import torch
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.nn.attention import flex_attention as flex

BOUND_S = 60
first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

# Without these two, a score function is never run as Python and a CPU gets no gradient.
flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
flex._validate_device = lambda *_: None


def first_score(score, b, h, q, k):
    if get_proxy_mode() is not None:  # it is being traced
        first_in.set()
        assert second_in.wait(BOUND_S)
    return score + 1


def second_score(score, b, h, q, k):
    if get_proxy_mode() is not None:
        second_in.set()
        assert first_out.wait(BOUND_S)
    return score * 2


def draft(score_mod) -> None:
    q = torch.ones(1, 1, 16, 16, requires_grad=True)
    try:
        flex.flex_attention(q, q, q, score_mod=score_mod).sum().backward()
    finally:
        first_out.set()


def main() -> None:
    first = threading.Thread(target=draft, args=(first_score,), name="drafter-0")
    first.start()
    assert first_in.wait(BOUND_S)
    second = threading.Thread(target=draft, args=(second_score,), name="drafter-1")
    second.start()
    for thread in (first, second):
        thread.join(BOUND_S)


if __name__ == "__main__":
    main()
