"""`im2col`: the convolution as one matrix product, multiplied by BLAS.

Every tap of every channel gets a row of the unrolled matrix, every convolution
output a column; weights[maps, taps] times that matrix are the outputs.  Each thread
writes the matrix to memory for a block of images (or, of a large image, result rows),
multiplies it, and takes bias, activation and pool from the product.

Source: PMPP, section 16.4; Chellapilla, Puri, Simard, "High Performance Convolutional Neural
Networks for Document Processing" (2006).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from rooftile._blas import multiply, share_out
from rooftile._locks import lock
from rooftile.devices import cpu
from rooftile.devices.cpu.native import native
from rooftile.ops import Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies.common.serial import run
from rooftile.strategies.contract.cpu import HostStrategy
from rooftile.strategies.contract.cpu_kernel import aligned_copy
from rooftile.strategies.conv2d.cpu._unfused import Finisher, copy_taps

_BLOCK_FLOATS = 2**18
"""float32 of matrix and product that a thread aims at: they fill a second-level cache."""


@native
def unroll(x, weights, bias, out, scratch, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are (tap, image) of a block: each fills the convolution rows that the tap meets."""
    channels, height, width, mask_height, mask_width = sizes[0:5]
    stride_height, stride_width, pad_height, pad_width = sizes[5:9]
    images, rows, columns, first_image, first_row = sizes[9:14]
    for unit in range(begin, end):
        tap, n = unit // images, unit % images
        c, p = tap // mask_width // mask_height, tap // mask_width % mask_height
        q = tap % mask_width
        plane = ((first_image + n) * channels + c) * height
        for row in range(rows):
            i = (first_row + row) * stride_height + p - pad_height
            # A ghost row has no column inside.
            inside = width if 0 <= i < height else 0
            source = (plane + i) * width
            to = (unit * rows + row) * columns
            copy_taps(x, source, inside, stride_width, q - pad_width, out, to, 0, columns)


class Im2col(HostStrategy):
    """Takes every problem whose ghost cells are zeros."""

    operation = "conv2d"
    name = "im2col"
    summary = "unrolled matrix in memory, multiplied by BLAS"
    takes = features("activation:* padding pool.activation:* pool:average,l2,max stride")

    def round_trips(self, problem: Conv2d) -> dict[str, int]:
        columns = problem.batch * math.prod(problem.conv_span)
        return {
            "the unrolled matrix": 4 * problem.reduction * columns,
            "the product": 4 * problem.maps * columns,
        }

    def prepare(
        self, problem: Conv2d, parameters: tuple[Float32, ...], threads: int
    ) -> Callable[..., None]:
        weights, bias = parameters
        return _Bound(problem, weights, bias, threads)


STRATEGY = Im2col()


class _Bound:
    """Weights as a matrix, and each thread's workspace; calls take turns."""

    def __init__(self, problem: Conv2d, weights: Float32, bias: Float32, threads: int) -> None:
        self._problem = problem
        self._images, self._rows = _block(problem, threads)
        self._bands = -(-problem.output_size[0] // self._rows)
        blocks = -(-problem.batch // self._images) * self._bands
        matrix = aligned_copy(weights).reshape(problem.maps, -1)
        self._workers = [
            _Worker(problem, matrix, bias, self._images, self._rows)
            for _ in range(min(threads, blocks))
        ]
        self._turn = lock()

    def __call__(self, x: Float32, out: Float32) -> None:
        p = self._problem
        batch = x.size // math.prod(p.input_shape[1:])
        blocks = -(-batch // self._images) * self._bands
        count = len(self._workers)

        def work(worker: int) -> None:
            for block in range(blocks * worker // count, blocks * (worker + 1) // count):
                n, row = block // self._bands * self._images, block % self._bands * self._rows
                images = min(self._images, batch - n)
                rows = min(self._rows, p.output_size[0] - row)
                self._workers[worker](x, out, images, rows, (n, row))

        with self._turn:
            share_out(work, count)


def _block(problem: Conv2d, threads: int) -> tuple[int, int]:
    """Images and result rows of one matrix product: a cacheful, and work for every thread."""
    window, step = (problem.pool.window[0], problem.pool.stride[0]) if problem.pool else (1, 1)
    column = problem.reduction + problem.maps
    cacheful = _BLOCK_FLOATS // (column * problem.conv_span[1])
    all_rows = problem.output_size[0]
    bands = -(-threads // problem.batch)
    rows = max(1, min((cacheful - window) // step + 1, -(-all_rows // bands)))
    if rows < all_rows:
        return 1, rows
    images = cacheful // problem.conv_span[0]
    return max(1, min(images, -(-problem.batch // threads))), rows


class _Worker:
    """A thread's workspace for blocks of the problem."""

    def __init__(
        self, problem: Conv2d, weights: Float32, bias: Float32, images: int, rows: int
    ) -> None:
        self._problem, self._weights, self._taps = problem, weights, weights.shape[1]
        self._finish = Finisher(problem, bias)
        columns = images * self._finish.conv_rows(rows) * problem.conv_span[1]
        self._matrix = cpu.allocate(self._taps * columns, "the unrolled matrix")
        self._outputs = cpu.allocate(problem.maps * columns, "convolution outputs")

    def __call__(
        self, x: Float32, out: Float32, images: int, rows: int, first: tuple[int, int]
    ) -> None:
        """Compute ``rows`` result rows of ``images`` images from (image, row) ``first`` on."""
        p = self._problem
        conv_rows, columns = self._finish.conv_rows(rows), p.conv_span[1]
        sizes = (
            p.channels, p.height, p.width, *p.mask, *p.stride, *p.padding,
            images, conv_rows, columns, first[0], first[1] * self._finish.stride,
        )  # fmt: skip
        count = images * conv_rows * columns
        matrix = self._matrix[: self._taps * count].reshape(self._taps, count)
        outputs = self._outputs[: p.maps * count].reshape(p.maps, count)
        run(unroll, x, matrix, sizes, self._taps * images)
        multiply(self._weights, matrix, outputs)
        self._finish(outputs, out, images, rows, first)
