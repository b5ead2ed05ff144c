"""Presets: one file per workload, each holding one ``preset``."""
