"""The CPU's ladder of `softmax_cross_entropy`."""
