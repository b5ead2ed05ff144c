"""The learning rate over a run. One file per value."""

AXIS = "The learning rate over a run"
