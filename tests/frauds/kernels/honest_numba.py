"""Honest: compiled loops over the cores; the first call compiles."""

import numba
import numpy as np
from _direct import largest


@numba.njit(parallel=True, cache=True)
def correlate(x, weights, bias, y, stride, padding):
    for n in numba.prange(len(x)):
        for m in range(y.shape[1]):
            for i in range(y.shape[2]):
                for j in range(y.shape[3]):
                    total = bias[m]
                    for c in range(x.shape[1]):
                        for p in range(weights.shape[2]):
                            for q in range(weights.shape[3]):
                                row = i * stride[0] + p - padding[0]
                                column = j * stride[1] + q - padding[1]
                                if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
                                    total += x[n, c, row, column] * weights[m, c, p, q]
                    y[n, m, i, j] = total


def kernel(x, weights, bias, stride, padding, activation, pool):
    p, q = weights.shape[2:]
    rows = (x.shape[2] + 2 * padding[0] - p) // stride[0] + 1
    columns = (x.shape[3] + 2 * padding[1] - q) // stride[1] + 1
    y = np.empty((len(x), len(weights), rows, columns), np.float32)
    correlate(x, weights, bias, y, stride, padding)
    if activation == "relu":
        np.maximum(y, 0, out=y)
    return y if pool is None else largest(y, pool)
