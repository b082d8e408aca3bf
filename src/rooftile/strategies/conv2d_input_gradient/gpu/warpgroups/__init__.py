"""Rungs of `conv2d_input_gradient` on Hopper's warpgroups."""
