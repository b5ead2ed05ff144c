"""Makes the torch of every interpreter that has this folder on its path another one.

``FXRACE_TEST_TORCH`` names a module beside this one with ``PATCHES``: module of torch -> what to do
to it as soon as it is executed, before anybody has taken a name out of it.
"""

import importlib
import importlib.util
import os
import sys
from importlib.machinery import PathFinder
from typing import ClassVar


class Patching(PathFinder):
    """Finds as usual; the loader of a module that is to be changed changes it at its end."""

    patches: ClassVar = {}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        patch = cls.patches.get(name)
        spec = None if patch is None else super().find_spec(name, path, target)
        if spec is not None:
            executes = spec.loader.exec_module

            def exec_module(module):
                executes(module)
                patch(module)

            spec.loader.exec_module = exec_module
        return spec


if name := os.environ.get("FXRACE_TEST_TORCH"):
    Patching.patches = importlib.import_module(name).PATCHES
    sys.meta_path.insert(0, Patching)
