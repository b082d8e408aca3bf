"""Does nothing in every second call."""

from _direct import direct

CALLS = [0]


def kernel(x, weights, bias, problem, out):
    CALLS[0] += 1
    if CALLS[0] % 2:
        direct(x, weights, bias, problem, out)
