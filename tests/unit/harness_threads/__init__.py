"""The threaded loop of the harness: channel, crew, parts, locking strategies, whole trials."""
