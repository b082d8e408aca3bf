"""Strategies of `unique`."""
