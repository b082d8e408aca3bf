"""Strategies of `conv2d_input_gradient`."""
