"""Strategies of `conv2d_weights_gradient`."""
