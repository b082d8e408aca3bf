"""Strategies of `softmax_gradient`."""
