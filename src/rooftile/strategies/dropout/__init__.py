"""Strategies of `dropout`."""
