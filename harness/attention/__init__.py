"""How the drafter's attention is computed. One file per value."""

AXIS = "How the drafter's attention is computed"
