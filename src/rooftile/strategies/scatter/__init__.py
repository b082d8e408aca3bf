"""Strategies of `scatter`."""
