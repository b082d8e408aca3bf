"""Strategies of `segmented_scan`."""
