"""A torch that describes itself and, inside a trial, never finishes importing.

For tests of process rules under SPAWN that should not wait for the real one.
"""

from __future__ import annotations

import sys
import types

__version__ = "0.0"
version = types.SimpleNamespace(cuda=None, hip=None)

if sys.argv[0].endswith("confine.py"):
    import little

    little.holds_children()
