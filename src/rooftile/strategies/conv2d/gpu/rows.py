"""Rows of results by threads that slide a window along rows of the image.

Source: the OpenCL report on a 5x5 convolution, variant without caching; the OpenCL report on a 5x5
convolution, variant with rows in private memory; the OpenCL report on a 5x5 convolution, variant
with rows in local memory; the OpenCL report on a 5x5 convolution, variant with two pooled rows a
group.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from rooftile.analysis.accesses import WARP, Accesses, broadcasts, row_loads
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d.gpu._accesses import real_taps
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, GpuConv2d, beyond_block, blocks

_VECTOR = 4


class RowConv2d(GpuConv2d):
    """Groups share out the rows of the result, the threads of a group the maps; each thread slides
    a window of four columns along its rows.

    They are the four variants of the OpenCL report on a 5x5 convolution: its groups of 28, 56 or
    112 by work-items of 64, 128 or 256, its float4 windows, and with a SPAN of 224 its whole rows.
    """

    takes = features("activation:* padding pool:max")

    result_rows: ClassVar[int] = 1
    """Rows of the result that a group makes at a time."""
    shares_rows: ClassVar[bool] = False
    """True if a group keeps the input rows of a channel in shared memory."""
    tunables = (
        Tunable("GROUPS", (28, 56, 112), 112),
        Tunable("ITEMS", (64, 128, 256), 64),
        Tunable("SPAN", (16, 32, 64, 224), 16),
    )

    def limits(self, problem: Conv2d) -> str | None:
        pool = problem.pool
        if pool is None or (pool.window, pool.stride) == ((2, 2), (2, 2)):
            return self.invalid(problem, self.defaults(problem))
        return f"an item keeps pairs of rows and columns for a 2x2 maximum, which {pool} is not"

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        line = _span(problem, config) + problem.mask[1] - 1
        rows = self.lines(problem) if self.shares_rows else 0
        return beyond_block(config["ITEMS"], 4 * rows * line)

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        own = {"SPAN": _span(problem, config), "RESULT_ROWS": self.result_rows}
        return {**super().macros(problem, config), **own}

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """[CHANNELS][MASK_HEIGHT][MASK_WIDTH][MAPS]: threads read neighbouring words."""
        return np.ascontiguousarray(weights.transpose(1, 2, 3, 0))

    def lines(self, problem: Conv2d) -> int:
        """Input rows that a group's rows of the result read."""
        pooled = problem.pool.window[0] if problem.pool else 1
        return self.result_rows * pooled + problem.mask[0] - 1

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        grid = (
            min(config["GROUPS"], blocks(problem.output_size[0], self.result_rows)),
            blocks(problem.conv_read[1], _span(problem, config)),
            min(problem.batch, MOST_BLOCKS),
        )
        launch = Launch(self.kernel(), grid, (config["ITEMS"], 1, 1))
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """A lane has a map: weights are adjacent, and an element of a row is one address for all
        lanes, in global memory, or in shared memory, which a block fills with each row."""
        rows, columns = problem.conv_read
        high, wide = problem.mask
        span = _span(problem, config)
        line, spans = span + wide - 1, blocks(columns, span)
        warps = blocks(problem.maps, WARP)
        takes = blocks(problem.output_size[0], self.result_rows)
        passes = problem.batch * spans * problem.channels * takes
        # Windows are written out, so that an element is read once for all that meet it.
        lines = self.lines(problem)
        share = real_taps(problem, 0) / (rows * high)
        found = row_loads(problem.maps, passes * high * wide)
        if self.shares_rows:
            rounds = blocks(problem.maps, config["ITEMS"])
            found += row_loads(line, passes * lines * rounds * share)
            found += Accesses(shared_reads=passes * lines * line * warps)
        else:
            found += broadcasts(passes * lines * line * warps * share, problem.maps / warps)
        # Neighbouring lanes are of different maps, whose planes lie apart.
        results = math.prod(problem.output_shape)
        return {self.kernel(): found + Accesses(stores=results, store_sectors=results)}


def _span(problem: Conv2d, config: Config) -> int:
    """Columns that a thread slides along: no more than the row has, in whole windows."""
    return min(config["SPAN"], blocks(problem.conv_read[1], _VECTOR) * _VECTOR)


class RowGlobal(RowConv2d):
    """A thread makes one map of one row of the result; a tap meets four columns at a time."""

    name = "row_global"
    summary = "a thread a map slides a float4 window along rows in global memory"


class RowPrivate(RowConv2d):
    """The rows of a span are in registers, whole rows in memory of the thread's own."""

    name = "row_private"
    summary = "the rows in each thread's private memory"
    tunables = (*RowConv2d.tunables[:2], Tunable("SPAN", (8, 16, 32, 224), 8))


class RowLocal(RowConv2d):
    """The threads of a block make different maps, and share the input rows of a channel."""

    name = "row_local"
    summary = "the rows in shared memory, read once a block"
    shares_rows = True


class RowPair(RowConv2d):
    """All input rows of a channel that a pair of result rows reads, between two barriers."""

    name = "row_pair"
    summary = "two rows of the result a group: an input row in shared memory serves both"
    result_rows = 2
    shares_rows = True


STRATEGIES = (RowGlobal(), RowPrivate(), RowLocal(), RowPair())
