"""Its sums begin with what lay in memory: NaN, this time."""

import numpy as np
from _direct import direct


def kernel(x, weights, bias, problem):
    made = direct(x, weights, bias, problem)
    made[0, 0, 0, 0] = np.nan
    return made
