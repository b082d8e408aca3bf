"""Honest: returns a new array."""

from _direct import direct


def kernel(x, weights, bias, problem):
    return direct(x, weights, bias, problem)
