"""Unrolls the windows and lets NumPy's BLAS multiply."""

import numpy as np
from _direct import largest


def kernel(x, weights, bias, stride, padding, activation, pool):
    (vp, hp), (sh, sw) = padding, stride
    padded = np.pad(x, ((0, 0), (0, 0), (vp, vp), (hp, hp)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape[2:], (2, 3))
    windows = windows[:, :, ::sh, ::sw].transpose(0, 2, 3, 1, 4, 5)
    rows, columns = windows.shape[1:3]
    unrolled = windows.reshape(len(x) * rows * columns, -1)
    y = unrolled @ weights.reshape(len(weights), -1).T + bias
    y = y.reshape(len(x), rows, columns, -1).transpose(0, 3, 1, 2)
    if activation == "relu":
        y = np.maximum(y, 0)
    return np.ascontiguousarray(y if pool is None else largest(y, pool))
