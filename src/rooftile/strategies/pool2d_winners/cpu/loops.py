"""`loops`: one window after the other, on one thread. Source: Scherer, Müller, Behnke, "Evaluation
of Pooling Operations in Convolutional Architectures", ICANN 2010."""

from __future__ import annotations

from rooftile.devices.cpu.native import native
from rooftile.ops.gradients.pool2d_winners import Pool2dWinners
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.common.winner import winner
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


STRATEGIES = loops_and_threads(Loops())
