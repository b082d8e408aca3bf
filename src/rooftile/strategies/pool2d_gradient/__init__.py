"""Strategies of `pool2d_gradient`."""
