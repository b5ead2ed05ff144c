"""How features wait between targets and drafters. One file per value."""

AXIS = "How features wait between targets and drafters"
