"""The CPU's ladder of `pool2d_winners`."""
