"""Strategies of `rotate`."""
