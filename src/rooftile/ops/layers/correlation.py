"""The cross-correlation of images in float64, which references are made of."""

from __future__ import annotations

import itertools

import numpy as np

from rooftile import _blas
from rooftile.ops.boundary import Boundary
from rooftile.ops.problem import Float32, Float64

BLOCK_BYTES = 16 * 2**20
"""Bytes of the largest unrolled block that a thread builds at a time."""
_FLOPS_OF_A_THREAD = 10**7
"""Least FLOPs for which a thread is started."""


def correlated(
    x: Float32,
    weights: Float32,
    stride: tuple[int, int],
    padding: tuple[int, int],
    after: tuple[int, int],
    boundary: Boundary,
    dilation: tuple[int, int] = (1, 1),
    groups: int = 1,
) -> Float64:
    """x[batch, channels, height, width] by weights[maps, channels / groups, *mask] in float64:
    blocks of rows, unrolled and multiplied, over threads."""
    sh, sw = stride
    maps, channels, *mask = weights.shape
    around = ((0, 0), (0, 0), *zip(padding, after, strict=True))
    exact = x.astype(np.float64)
    padded = np.pad(exact, around, "edge" if boundary == "replicate" else "constant")
    extent = tuple((count - 1) * step + 1 for count, step in zip(mask, dilation, strict=True))
    windows = np.lib.stride_tricks.sliding_window_view(padded, extent, axis=(2, 3))
    windows = windows[:, :, ::sh, ::sw, :: dilation[0], :: dilation[1]]
    windows = windows.transpose(0, 1, 4, 5, 2, 3)
    rows, columns = windows.shape[4:]
    taps = weights.astype(np.float64).reshape(groups, maps // groups, -1)
    length = taps.shape[2]
    height = min(rows, max(1, BLOCK_BYTES // (8 * columns * length)))
    blocks = [*itertools.product(range(len(x)), range(groups), range(0, rows, height))]
    # A thread takes longer to start than a small part takes to compute.
    z = np.empty((len(x), groups, maps // groups, rows * columns))
    flops = 2 * z.size * length
    workers = min(_blas.threads(), len(blocks), 1 + flops // _FLOPS_OF_A_THREAD)

    def work(worker: int) -> None:
        # One array for all blocks: new memory costs several times what filling it does.
        unrolled = np.empty((channels, *mask, height, columns))
        for n, group, top in blocks[worker::workers]:
            used = unrolled[..., : rows - top, :]
            given = windows[n, group * channels : (group + 1) * channels]
            used[...] = given[..., top : top + height, :]
            part = z[n, group, :, top * columns : (top + height) * columns]
            _blas.multiply(taps[group], used.reshape(length, -1), part)

    _blas.share_out(work, workers)
    return z.reshape(len(x), maps, rows, columns)
