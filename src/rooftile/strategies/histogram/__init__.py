"""Strategies of `histogram`."""
