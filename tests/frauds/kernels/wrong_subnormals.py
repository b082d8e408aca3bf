"""Takes subnormal numbers for zeros."""

import numpy as np
from _direct import direct


def kernel(x, weights, bias, problem):
    least = np.finfo(np.float32).tiny
    return direct(np.where(np.abs(x) < least, np.float32(0), x), weights, bias, problem)
