"""The base of rungs that compute whole convolutions before the fused block.

`finish` adds the bias to convolution outputs z[map, image, row, column] in memory, activates,
pools, and writes result rows; see `Finisher`.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import native
from rooftile.ops import Conv2d, Float32
from rooftile.strategies.common.fused import ACTIVATION_CODES, finish_row
from rooftile.strategies.common.serial import run
from rooftile.strategies.contract.cpu_kernel import aligned_copy
from rooftile.strategies.conv2d.cpu.loops import pool_codes


@native
def copy_taps(x, source, width, stride, shift, out, to, first, columns):  # type: ignore[no-untyped-def]
    """``columns`` inputs that one tap meets, from output column ``first`` on, to ``out[to]``.

    Output column j meets column ``j * stride + shift`` of the row at ``source``; zeros stand for
    columns outside its ``width``.
    """
    # Divisions are slow, so a division by one is left out.
    inside, beyond = -shift, width - shift
    if stride > 1:
        inside, beyond = -(shift // stride), (width - 1 - shift) // stride + 1
    inside = min(max(inside - first, 0), columns)
    beyond = min(max(beyond - first, inside), columns)
    for j in range(inside):
        out[to + j] = np.float32(0.0)
    at = source + first * stride + shift
    if stride == 1:
        for j in range(inside, beyond):
            out[to + j] = x[at + j]
    else:
        for j in range(inside, beyond):
            out[to + j] = x[at + j * stride]
    for j in range(beyond, columns):
        out[to + j] = np.float32(0.0)


@native
def finish(x, weights, bias, out, scratch, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are (image, map, result row) of a block; ``x`` holds z.  ``sizes``: maps, images,
    rows and columns of z; window height, width, stride; activation, the pool's kind, the
    activation behind it; result rows of the block, of an image, columns; first image and row of
    the block."""
    maps, images, conv_rows, read = sizes[0], sizes[1], sizes[2], sizes[3]
    window, width, stride, across = sizes[4], sizes[5], sizes[6], sizes[7]
    rows, all_rows, columns = sizes[11], sizes[12], sizes[13]
    for unit in range(begin, end):
        n, m, row = unit // rows // maps, unit // rows % maps, unit % rows
        z = ((m * images + n) * conv_rows + row * stride) * read
        # The rows are copied since windows may overlap and finishing overwrites them.
        for j in range(window * read):
            scratch[j] = x[z + j] + bias[m]
        to = (((sizes[14] + n) * maps + m) * all_rows + sizes[15] + row) * columns
        finish_row(
            scratch, 0, read, out, to, columns, window, width, across, sizes[8], sizes[9], sizes[10]
        )


class Finisher:
    """Bias, activation and pool over blocks of convolution outputs, on the calling thread."""

    def __init__(self, problem: Conv2d, bias: Float32) -> None:
        pool = problem.pool
        window, stride = (pool.window, pool.stride) if pool else ((1, 1), (1, 1))
        self._problem = problem
        self._window, self.stride = window[0], stride[0]
        codes = ACTIVATION_CODES[problem.activation], *pool_codes(problem)
        self._fixed = *window, *stride, *codes
        self._bias = aligned_copy(bias)
        self._scratch = cpu.allocate(window[0] * problem.conv_span[1], "scratch")

    def conv_rows(self, rows: int) -> int:
        """Convolution rows behind a number of result rows."""
        return (rows - 1) * self.stride + self._window

    def __call__(
        self, z: Float32, out: Float32, images: int, rows: int, first: tuple[int, int]
    ) -> None:
        """Finish ``rows`` result rows of ``images`` images from z[maps, images, conv rows,
        columns]; ``first`` says which image and row of ``out`` they begin at."""
        p = self._problem
        sizes = (
            p.maps, images, self.conv_rows(rows), p.conv_span[1], *self._fixed,
            rows, *p.output_size, *first,
        )  # fmt: skip
        units = images * p.maps * rows
        run(finish, z, out, sizes, units, bias=self._bias, scratch=self._scratch)
