"""What drafters share while they train. One file per value."""

AXIS = "What drafters share while they train"
