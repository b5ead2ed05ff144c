"""Floor 3: what can be chosen, read from the folders without running anything in them.

Help and sweep plans need the names and one-line descriptions of parts whose modules import
torch; reading their source keeps the command line fast and works where torch is not installed.
"""
