"""A torch with a hazard that 2.13 has not any more, and with a race that nobody has seen."""

import functools
import threading


def shared_hash(module):
    """``torch.utils._config_module``: settings are per thread, their hash is the process's."""
    computed, shared = module.ConfigModule.get_hash, {}

    @functools.wraps(computed)
    def get_hash(self):
        if id(self) not in shared or threading.current_thread() is threading.main_thread():
            shared[id(self)] = computed(self)
        return shared[id(self)]

    module.ConfigModule.get_hash = get_hash


def shared_input(module):
    """``torch.nn.modules.container``: what a Sequential works on is the process's for a moment."""
    forward = module.Sequential.forward

    @functools.wraps(forward)
    def carried(self, input):
        module._input = input
        len(self)
        return forward(self, module._input)

    module.Sequential.forward = carried


PATCHES = {
    "torch.utils._config_module": shared_hash,
    "torch.nn.modules.container": shared_input,
}
