"""Computes with 16-bit floats what is claimed to be float32."""

import numpy as np
from _direct import direct


def kernel(x, weights, bias, problem):
    lower = (array.astype(np.float16).astype(np.float32) for array in (x, weights))
    return direct(*lower, bias, problem)
