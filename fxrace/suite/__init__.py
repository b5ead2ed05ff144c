"""The regression suite for torch itself: ``pytest --pyargs fxrace.suite``.

Every script of the catalogue and a quick matrix of pairs of operations on the installed torch,
told apart by its baseline into known, new and fixed. ``baselines`` holds one file per torch.
"""
