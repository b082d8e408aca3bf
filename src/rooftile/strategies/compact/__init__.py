"""Strategies of `compact`."""
