"""What runs the loop. One file per value."""

AXIS = "What runs the loop"
