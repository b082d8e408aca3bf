"""Cuts the inputs to the 11 significant bits of a tensor core's TF32."""

import numpy as np
from _direct import direct


def kernel(x, weights, bias, problem):
    lower = ((a.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for a in (x, weights))
    return direct(*lower, bias, problem)
