"""Strategies of `most_likely`."""
