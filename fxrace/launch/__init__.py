"""Floor 3: child processes. Starts trials, watches them, takes the last words of stuck ones."""
