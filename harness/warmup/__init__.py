"""What is compiled before the first step, and on which thread. One file per value."""

AXIS = "What is compiled before the first step, and on which thread"
