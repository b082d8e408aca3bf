"""Strategies of `transpose`."""
