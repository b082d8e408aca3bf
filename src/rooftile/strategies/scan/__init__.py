"""Strategies of `scan`."""
