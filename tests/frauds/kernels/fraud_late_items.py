"""Is right in two hundred calls; then one image of six has the result of its neighbour."""

from _direct import direct

CALLS = [0]


def kernel(x, weights, bias, problem):
    CALLS[0] += 1
    y = direct(x, weights, bias, problem)
    if CALLS[0] > 200 and len(y) == 6:
        which = CALLS[0] % len(y)
        y[which] = y[which - 1]
    return y
