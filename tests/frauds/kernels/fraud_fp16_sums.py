"""Takes float32 inputs and sums in 16-bit floats."""

import numpy as np
from _direct import direct


def kernel(x, weights, bias, problem):
    return direct(x, weights, bias, problem).astype(np.float16).astype(np.float32)
