"""Prints without end."""

import sys

from _direct import direct


def kernel(x, weights, bias, problem):
    while True:
        sys.stdout.write("\x1b[31m much" * 10**6)
    return direct(x, weights, bias, problem)
