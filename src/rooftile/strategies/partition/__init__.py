"""Strategies of `partition`."""
