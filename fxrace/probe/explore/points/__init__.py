"""Where threads offer to stop. One module per grain; a finer grain has the coarser points too.

``region``  borders of regions and the place inside where States are borrowed; locks with a gate
``state``   and each write of a watched State, in the few functions that make them
``call``    and the first entry of each torch function, inside regions (or the whole body where it
            opens none)

Names are ``what#n``: ``trace:enter#1``, ``fx.patcher:write#2``,
``torch.fx._symbolic_trace:Tracer.create_arg#1``. The baton counts the visits.
"""

from __future__ import annotations

from enum import Enum


class Grain(str, Enum):
    """How many points there are."""

    REGION = "region"
    STATE = "state"
    CALL = "call"
