"""The loops of the definition, and rows of windows in vectors.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010.
"""

from __future__ import annotations

import math

from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import Native, last_kernels, native, source
from rooftile.ops.gradients.pool2d_winners import Pool2dWinners
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.common.winner import emit_winner, winner
from rooftile.strategies.contract.cpu import loops_and_threads


@native
def each_window(x, y, where, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are planes: channels of images."""
    height, width, tall, wide = sizes[0], sizes[1], sizes[2], sizes[3]
    down, right, rows, columns = sizes[4], sizes[5], sizes[6], sizes[7]
    for unit in range(begin, end):
        plane = unit * height * width
        for i in range(rows):
            for j in range(columns):
                place = winner(x, plane, width, i * down, j * right, tall, wide)
                y[(unit * rows + i) * columns + j] = x[place]
                where[(unit * rows + i) * columns + j] = place - plane


class Loops(ArrayStrategy):
    """Takes every problem."""

    operation = "pool2d_winners"
    name = "loops"
    parallel = False
    summary = "one window after the other, on one thread"

    def kernel(self, problem: Pool2dWinners) -> ArrayKernel:
        p = problem
        sizes = (p.height, p.width, *p.pool.window, *p.pool.stride, *p.output_size)
        return ArrayKernel(each_window, p.batch * p.channels, sizes)


_MOST = 64
"""Elements of the largest window that is written out."""


class WinnerRows(ArrayStrategy):
    """Takes small windows.

    The argmax of each window of a row is found by comparing and selecting, which becomes vectors.
    The window and its horizontal stride are written out. A unit is a plane.
    """

    operation = "pool2d_winners"
    name = "rows"
    summary = "a row of windows at once, compared and selected in vectors"

    def limits(self, problem: Pool2dWinners) -> str | None:
        window = problem.pool.window
        if math.prod(window) > _MOST:
            return f"a window of {window} has more than {_MOST} elements"
        return None

    def kernel(self, problem: Pool2dWinners) -> ArrayKernel:
        p = problem
        sizes = (p.height, p.width, *p.output_size, p.pool.stride[0])
        return ArrayKernel(_kernel(p.pool.window, p.pool.stride[1]), p.batch * p.channels, sizes)


@last_kernels
def _kernel(window: tuple[int, int], right: int) -> Native:
    """The kernel for windows of this size and horizontal stride."""
    to = Writer()
    with to.block("def kernel(x, y, where, sizes, begin, end):"):
        to.line("height, width, rows, columns = sizes[0], sizes[1], sizes[2], sizes[3]")
        with to.block("for unit in range(begin, end):"), to.block("for i in range(rows):"):
            to.line("row, of = i * sizes[4] * width, (unit * rows + i) * columns")
            to.line("plane = unit * height * width")
            with to.block("for j in range(columns):"):
                emit_winner(to, window, "plane", f"row + j * {right}")
                to.line("y[of + j], where[of + j] = best, place")
    return source("pool2d_winners_rows", to.text())


STRATEGIES = (*loops_and_threads(Loops()), WinnerRows())
