"""Whether a step is replayed as a CUDA graph. One file per value."""

AXIS = "Whether a step is replayed as a CUDA graph"
