"""Strategies of `pool2d_winners`."""
