"""Takes what is no number for zero."""

import numpy as np
from _direct import direct


def kernel(x, weights, bias, problem):
    return direct(np.where(np.isnan(x), np.float32(0), x), weights, bias, problem)
