"""Where trials run: one file per place. Each yields ``progress.Started`` and ``Ended``."""
