"""Strategies of `segmented_reduce`."""
