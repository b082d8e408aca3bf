"""The direct convolution in NumPy that the kernels of this folder build on."""

import numpy as np


def direct(x, weights, bias, problem, out=None):
    """One shifted, scaled copy of the images for each tap; then activation and pool."""
    (sh, sw), (vp, hp) = problem.stride, problem.padding
    batch, channels, height, width = x.shape
    maps, _, p, q = weights.shape
    padded = np.zeros((batch, channels, height + 2 * vp, width + 2 * hp), np.float32)
    padded[:, :, vp : vp + height, hp : hp + width] = x
    rows, columns = (height + 2 * vp - p) // sh + 1, (width + 2 * hp - q) // sw + 1
    y = np.empty((batch, maps, rows, columns), np.float32)
    y[:] = bias[None, :, None, None]
    for c in range(channels):
        for i in range(p):
            for j in range(q):
                taps = padded[:, c, i : i + sh * rows : sh, j : j + sw * columns : sw]
                for m in range(maps):
                    y[:, m] += weights[m, c, i, j] * taps[:, :rows, :columns]
    if problem.activation == "relu":
        np.maximum(y, 0, out=y)
    if problem.pool is not None:
        y = largest(y, problem.pool)
    if out is None:
        return y
    out[...] = y
    return out


def largest(y, pool):
    """The maximum of each window."""
    (ph, pw), (sh, sw) = pool.window, pool.stride
    rows, columns = (y.shape[2] - ph) // sh + 1, (y.shape[3] - pw) // sw + 1
    parts = [
        y[:, :, i : i + sh * rows : sh, j : j + sw * columns : sw][:, :, :rows, :columns]
        for i in range(ph)
        for j in range(pw)
    ]
    return np.maximum.reduce(parts)
