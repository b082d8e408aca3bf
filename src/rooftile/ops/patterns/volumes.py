"""Operations over volumes: boundaries, and weighted sums of neighbours in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, get_args

import numpy as np

from rooftile import _blas
from rooftile.errors import unknown
from rooftile.ops.problem import AnyArray, Array, Float64

Boundary = Literal["zero", "valid"]
"""``zero``: ghost cells are zeros, and the result has the input's size.  ``valid``: only what meets
no ghost cell is computed."""
Size3 = tuple[int, int, int]
"""Of planes, rows and columns."""
Tap = tuple[int, int, int, int]
"""A channel, and a plane, row and column of a padded volume, counted from an output's own."""

_BLOCK_BYTES = 2 * 2**20
"""Bytes of the largest unrolled block that a thread of the reference builds at a time."""


class VolumeProblem(Protocol):
    """A problem whose results are weighted sums of their neighbours in volumes.

    It has one input, one parameter, the weights, and one output.
    """

    @property
    def images(self) -> int:
        """Independent volumes of all channels."""

    @property
    def channels(self) -> int:
        """Volumes that are summed up."""

    @property
    def maps(self) -> int:
        """Results of an image."""

    @property
    def steps(self) -> int:
        """Number of consecutive applications, each to the sums of the one before."""

    @property
    def star(self) -> bool:
        """True if only taps on the axes through the mask's centre count."""

    @property
    def size(self) -> Size3:
        """Depth, height and width of the input."""

    @property
    def output_size(self) -> Size3:
        """Planes, rows and columns of the result."""

    @property
    def mask(self) -> Size3:
        """Planes, rows and columns of the mask."""

    @property
    def crop(self) -> Size3:
        """Planes, rows and columns that the result has lost before its first."""

    @property
    def parameter_arrays(self) -> tuple[Array, ...]:
        """The weights."""

    def dense(self, weights: AnyArray) -> AnyArray:
        """The weights as [maps, channels, *mask], with zeros for taps that do not count."""


def check_boundary(boundary: str) -> None:
    """Raise `InputError` for a boundary that is not one of `Boundary`."""
    if not isinstance(boundary, str) or boundary not in get_args(Boundary):
        raise unknown("boundary", boundary, get_args(Boundary))


def before(mask: Size3) -> Size3:
    """Numbers of a mask's planes, rows and columns before its centre."""
    planes, rows, columns = ((size - 1) // 2 for size in mask)
    return planes, rows, columns


def padded(x: AnyArray, mask: Size3, boundary: Boundary) -> Float64:
    """x[..., depth, height, width] in float64, with its ghost cells where the boundary has some."""
    wide: Float64 = x.astype(np.float64)
    if boundary == "valid":
        return wide
    ghosts = [(first, size - 1 - first) for first, size in zip(before(mask), mask, strict=True)]
    made: Float64 = np.pad(wide, [(0, 0)] * (x.ndim - 3) + ghosts)
    return made


def weighted_sums(volumes: Float64, taps: Sequence[Tap], weights: AnyArray, size: Size3) -> Float64:
    """``sums[n, m, z, i, j]`` of ``weights[m, k] * volumes[n, c, z + d, i + p, j + q]`` over the
    taps ``k = (c, d, p, q)``, for volumes[images, channels, depth, height, width].

    Blocks of rows are unrolled and multiplied, over threads.
    """
    planes, rows, columns = size
    matrix = np.ascontiguousarray(weights, np.float64)
    height = min(rows, max(1, _BLOCK_BYTES // (8 * columns * len(taps))))
    blocks = [
        (n, z, top)
        for n in range(len(volumes))
        for z in range(planes)
        for top in range(0, rows, height)
    ]
    sums = np.empty((len(volumes), len(matrix), planes, rows, columns))
    workers = min(_blas.threads(), len(blocks))

    def work(worker: int) -> None:
        # One array for all blocks: new memory costs several times what filling it does.
        unrolled = np.empty(len(taps) * height * columns)
        for n, z, top in blocks[worker::workers]:
            count = min(height, rows - top)
            used = unrolled[: len(taps) * count * columns].reshape(len(taps), count, columns)
            for k, (c, d, p, q) in enumerate(taps):
                used[k] = volumes[n, c, z + d, top + p : top + p + count, q : q + columns]
            product = np.empty((len(matrix), count * columns))
            _blas.multiply(matrix, used.reshape(len(taps), -1), product)
            sums[n, :, z, top : top + count] = product.reshape(-1, count, columns)

    _blas.share_out(work, workers)
    return sums
