"""The device guard that FakeTensorMode puts in where there is no GPU, from a thread that stays.

In torch 2.10 and 2.11 it belongs to the thread that entered the mode first and is freed with it;
the next that enters it crashes (pytorch/pytorch#178950). Nothing takes it out again, and nothing
needs to: torch itself never does.
"""

from __future__ import annotations

import threading

from fxrace.guards._contract import Detach


def attach_device_guard() -> Detach:
    """Does nothing on a thread that may end, with a GPU, or in another torch."""
    import torch

    affected = torch.__version__.startswith(("2.10.", "2.11.")) and torch.backends.cuda.is_built()
    stays = threading.current_thread() is threading.main_thread()
    # Counting asks the driver's library first; to ask whether CUDA is available would set it up,
    # and no fork survives that.
    if affected and stays and not torch.cuda.device_count():
        torch._C._ensureCUDADeviceGuardSet()
    return lambda: None
