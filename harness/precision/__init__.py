"""Which number formats weights, activations and the optimizer use. One file per value."""

AXIS = "Which number formats weights, activations and the optimizer use"
