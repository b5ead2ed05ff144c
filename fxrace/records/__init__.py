"""Floor 0: the frozen values that pass between stages. Standard library only.

The trial process reads and writes these too, under interpreters that have nothing but torch,
so no module here imports a third-party package at its top. ``wire`` (parent side) is the one
place where records become JSON and JSON becomes records.
"""
