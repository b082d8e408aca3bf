"""Forgets the bias."""

from _direct import direct


def kernel(x, weights, bias, problem):
    return direct(x, weights, 0 * bias, problem)
