"""How activations are recomputed in backward. One file per value."""

AXIS = "How activations are recomputed in backward"
