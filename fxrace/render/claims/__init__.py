"""The answers of ``fxrace claims``, for a terminal and for a README."""
