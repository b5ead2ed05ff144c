"""How much each draft slot's error counts. One file per value."""

AXIS = "How much each draft slot's error counts"
