"""One element of the last image is off by one part in ten thousand of its size."""

from _direct import direct


def kernel(x, weights, bias, problem):
    made = direct(x, weights, bias, problem)
    made[-1, 0, 0, 0] += 1e-4
    return made
