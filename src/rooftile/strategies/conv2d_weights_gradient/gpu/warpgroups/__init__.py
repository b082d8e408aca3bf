"""Rungs of `conv2d_weights_gradient` on tensor cores, by Hopper's ``wgmma``."""
