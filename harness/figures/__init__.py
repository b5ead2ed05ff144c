"""What a run is measured by: predicted work and memory, time and waits counted, the summary."""
