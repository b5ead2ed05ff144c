"""Floor 2, child side: what runs inside a trial process. torch and the standard library only."""
