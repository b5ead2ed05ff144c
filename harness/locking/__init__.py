"""What serialises tracing and compiling between drafters. One file per value."""

AXIS = "What serialises tracing and compiling between drafters"
