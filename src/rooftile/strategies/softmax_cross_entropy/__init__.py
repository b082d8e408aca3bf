"""Strategies of `softmax_cross_entropy`."""
