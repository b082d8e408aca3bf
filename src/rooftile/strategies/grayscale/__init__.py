"""Strategies of `grayscale`."""
