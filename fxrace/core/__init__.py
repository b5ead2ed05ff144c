"""Floor 1: pure reasoning. Values in, values out; no disk, clock, process or torch.

After a trial process has ended everything that is said about it is computed here from its Trace
and its Ending, so a new detector can re-read old trials.
"""
