"""The loops of the definition, and rows of windows in vectors.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010.
"""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import Native, last_kernels, native, source
from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.common.winner import emit_winner, winner
from rooftile.strategies.contract.cpu import loops_and_threads


@native
def each_window(x, dy, dx, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are planes: channels of images."""
    height, width, tall, wide = sizes[0], sizes[1], sizes[2], sizes[3]
    down, right, rows, columns = sizes[4], sizes[5], sizes[6], sizes[7]
    for unit in range(begin, end):
        plane = unit * height * width
        for k in range(plane, plane + height * width):
            dx[k] = 0.0
        for i in range(rows):
            for j in range(columns):
                brought = dy[(unit * rows + i) * columns + j]
                if sizes[8]:
                    brought = brought / np.float32(tall * wide)
                    for a in range(tall):
                        for b in range(wide):
                            dx[plane + (i * down + a) * width + j * right + b] += brought
                else:
                    dx[winner(x, plane, width, i * down, j * right, tall, wide)] += brought


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "pool2d_gradient"
    name = "loops"
    parallel = False
    summary = "one window after the other, on one thread"

    def kernel(self, problem: Pool2dGradient) -> ArrayKernel:
        p = problem
        sizes = (
            p.height,
            p.width,
            *p.pool.window,
            *p.pool.stride,
            *p.output_size,
            int(p.pool.kind == "average"),
        )
        return ArrayKernel(each_window, p.batch * p.channels, sizes)


_MOST = 64
"""Elements of the largest window that is written out."""
_AT_ONCE = 256
"""Windows of a row whose winners wait to be used."""


class GradientRows(ArrayStrategy):
    """Takes maxima of small windows.

    Comparing and selecting becomes vectors; only then are a row's gradients stored at their
    argmax. The window and its horizontal stride are written out. A unit is a plane.
    """

    operation = "pool2d_gradient"
    name = "rows"
    summary = "the argmax of a row of windows at once, compared and selected in vectors"

    def limits(self, problem: Pool2dGradient) -> str | None:
        pool = problem.pool
        if pool.kind != "max":
            return f"no element wins where the pool is an {pool.kind}"
        if math.prod(pool.window) > _MOST:
            return f"a window of {pool.window} has more than {_MOST} elements"
        return None

    def kernel(self, problem: Pool2dGradient) -> ArrayKernel:
        p = problem
        sizes = (p.height, p.width, *p.output_size, p.pool.stride[0])
        return ArrayKernel(_kernel(p.pool.window, p.pool.stride[1]), p.batch * p.channels, sizes)


@last_kernels
def _kernel(window: tuple[int, int], right: int) -> Native:
    """The kernel for windows of this size and horizontal stride."""
    to = Writer()
    with to.block("def kernel(x, dy, dx, sizes, begin, end):"):
        to.line("height, width, rows, columns = sizes[0], sizes[1], sizes[2], sizes[3]")
        to.line(f"down, places = sizes[4], np.empty({_AT_ONCE}, np.int64)")
        with to.block("for unit in range(begin, end):"):
            to.line("plane = unit * height * width")
            with to.block("for k in range(plane, plane + height * width):"):
                to.line("dx[k] = 0.0")
            with (
                to.block("for i in range(rows):"),
                to.block(f"for first in range(0, columns, {_AT_ONCE}):"),
            ):
                to.line(
                    f"count, of = min({_AT_ONCE}, columns - first), (unit * rows + i) * columns",
                    f"row = i * down * width + first * {right}",
                )
                with to.block("for j in range(count):"):
                    emit_winner(to, window, "plane", f"row + j * {right}")
                    to.line("places[j] = place")
                with to.block("for j in range(count):"):
                    to.line("dx[plane + places[j]] += dy[of + first + j]")
    return source("pool2d_gradient_rows", to.text())


STRATEGIES = (*loops_and_threads(Loops()), GradientRows())
