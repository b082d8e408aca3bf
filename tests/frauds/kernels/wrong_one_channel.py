"""Sums two channels at least: where there is one, it counts twice."""

import numpy as np
from _direct import direct


def kernel(x, weights, bias, problem):
    if x.shape[1] == 1:
        x, weights = np.repeat(x, 2, axis=1), np.repeat(weights, 2, axis=1)
    return direct(x, weights, bias, problem)
