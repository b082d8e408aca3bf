"""Strategies of `linear_gradient`."""
