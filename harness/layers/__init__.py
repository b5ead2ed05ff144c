"""What runs the drafter's layers around attention. One file per value."""

AXIS = "What runs the drafter's layers around attention"
