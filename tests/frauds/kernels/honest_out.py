"""Honest: writes where it is told to, and returns nothing."""

from _direct import direct


def kernel(x, weights, bias, *, problem, out):
    direct(x, weights, bias, problem, out)
