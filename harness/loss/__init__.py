"""How the loss is computed. One file per value."""

AXIS = "How the loss is computed"
