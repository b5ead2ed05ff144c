"""Floor 5: one verb per file; the folder is the registry.

``fxrace VERB`` imports ``fxrace.commands.VERB`` and runs its ``command``. The first line of the
module's docstring is its line in ``fxrace --help``, read without importing anything. Files that
begin with an underscore are shared by several verbs. A verb returns an ``ExitCode``.
"""
