"""Strategies of `linear_cross_entropy`."""
