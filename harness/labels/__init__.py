"""Which token a draft slot predicts. One file per value."""

AXIS = "Which token a draft slot predicts"
