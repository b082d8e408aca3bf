"""Rungs of `conv2d_input_gradient` on tensor cores, by ``mma.sync``."""
