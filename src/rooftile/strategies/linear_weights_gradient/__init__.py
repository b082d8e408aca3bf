"""Strategies of `linear_weights_gradient`."""
