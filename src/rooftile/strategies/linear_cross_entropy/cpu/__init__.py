"""The CPU's ladder of `linear_cross_entropy`."""
