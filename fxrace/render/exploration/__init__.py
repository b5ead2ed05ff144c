"""An exploration as people look at it: one format per file, each with ``render(document)``."""
