"""Is slow in every call, and in none so slow that it would be a hang."""

import time

from _direct import direct


def kernel(x, weights, bias, problem):
    time.sleep(0.3)
    return direct(x, weights, bias, problem)
