"""Measurements that are run by hand; the numbers go into reports, not into tests."""
