"""``fx.traceback``: blocks that write the metadata which new nodes of any graph are given.

``annotate`` adds a key to a dictionary of the process and deletes it; ``preserve_node_meta``
exchanges that dictionary and puts it back. Two threads inside either: one deletes what the other
has deleted, or brings back what the other has cleared.
"""

from __future__ import annotations

from fxrace.probe.hooks import Detach, in_reverse
from fxrace.probe.hooks._blocks import watched_block
from fxrace.probe.spans import Spans
from fxrace.probe.watching import Watching

KNOWN = "preserve_node_meta in 2.1 to 2.15, annotate in 2.9 to 2.15; read in 2.13"
ANNOTATE, PRESERVE = "annotate", "preserve_meta"


def attach(watching: Watching) -> Detach:
    from torch.fx import traceback

    blocks = [(PRESERVE, "preserve_node_meta")]
    if "annotate" in vars(traceback):
        blocks.append((ANNOTATE, "annotate"))
    return in_reverse(
        *(watched_block(Spans(watching.recorder, kind), traceback, name) for kind, name in blocks)
    )
