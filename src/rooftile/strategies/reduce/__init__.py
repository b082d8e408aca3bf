"""Strategies of `reduce`."""
