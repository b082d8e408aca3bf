"""The base of rungs with tiles in shared memory."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from dataclasses import dataclass

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, GpuConv2d, beyond_block, blocks

Size2 = tuple[int, int]
"""Rows and columns."""

_WARP = 32


@dataclass(frozen=True)
class Tile:
    """A block's tile."""

    threads: Size2
    positions: Size2
    """Positions of the convolution that it computes."""
    loaded: Size2
    """Elements of an input channel that it holds in shared memory."""
    results: Size2
    """Pooled results that it makes."""
    maps: int = 1
    weights: int = 0
    """Weights that it holds in shared memory."""
    adjacent: int = 1
    """Neighbours of a row that a thread loads, sums up and stores."""

    @property
    def thread_count(self) -> int:
        """Threads of the block."""
        return self.threads[0] * self.threads[1]

    @property
    def shared_bytes(self) -> int:
        """Shared memory: inputs, weights, and the positions that the pool reads."""
        floats = self.loaded[0] * self.loaded[1] + self.positions[0] * self.positions[1]
        return 4 * (floats + self.weights)


class TiledConv2d(GpuConv2d):
    """A block loads a tile of each input channel, sums, and pools from shared memory."""

    @abstractmethod
    def tile(self, problem: Conv2d, config: Config) -> Tile: ...

    def limits(self, problem: Conv2d) -> str | None:
        reasons = [self.invalid(problem, config) for config in self._configs()]
        if None in reasons:
            return None
        return f"no tile can hold it; the smallest has {reasons[0]}, the largest {reasons[-1]}"

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """The tile whose threads have the least to do, over the whole problem."""
        fit = [c for c in self._configs() if self.invalid(problem, c) is None]
        if not fit:
            return super().defaults(problem)
        return min(fit, key=lambda config: self._cost(problem, config))

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        tile = self.tile(problem, config)
        if min(*tile.positions, *tile.results) < 1:
            return "no whole pooling window"
        return beyond_block(tile.thread_count, tile.shared_bytes)

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        tile = self.tile(problem, config)
        return {
            **super().macros(problem, config),
            "THREADS_Y": tile.threads[0],
            "THREADS_X": tile.threads[1],
            "POSITIONS_Y": tile.positions[0],
            "POSITIONS_X": tile.positions[1],
            "LOADED_Y": tile.loaded[0],
            "LOADED_X": tile.loaded[1],
            "RESULTS_Y": tile.results[0],
            "RESULTS_X": tile.results[1],
        }

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        tile, (rows, columns) = self.tile(problem, config), problem.output_size
        layers = problem.batch * blocks(problem.maps, tile.maps)
        grid = (
            blocks(columns, tile.results[1]),
            blocks(rows, tile.results[0]),
            min(layers, MOST_BLOCKS),
        )
        launch = Launch(self.kernel(), grid, (tile.threads[1], tile.threads[0], 1))
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)

    def _configs(self) -> list[dict[str, int]]:
        names = [tunable.name for tunable in self.tunables]
        values = itertools.product(*(tunable.values for tunable in self.tunables))
        return [dict(zip(names, chosen, strict=True)) for chosen in values]

    def clocks(self, problem: Conv2d, config: Config) -> float:
        """See `GpuStrategy.clocks`: a multiprocessor's share of the warps' work, by blocks."""
        work, _ = self._cost(problem, config)
        blocks_of_all = math.prod(self.steps(problem, config)[0].launch.grid)
        waves = blocks(blocks_of_all, self.machine.multiprocessors)
        return problem.channels * work * problem.batch * waves / blocks_of_all

    def _cost(self, problem: Conv2d, config: Config) -> tuple[int, int]:
        """Reads and multiply-adds a channel of all threads, idle ones included, in warps; ties go
        to the larger block."""
        tile, (rows, columns) = self.tile(problem, config), problem.output_size
        threads, warps = tile.thread_count, blocks(tile.thread_count, _WARP)
        loads = blocks(tile.loaded[0] * tile.loaded[1] + tile.weights, threads)
        sums = blocks(tile.positions[0] * tile.positions[1], threads)
        taps = problem.mask[0] * problem.mask[1]
        work = loads + taps * (sums + tile.maps + sums * tile.maps)
        tiles = blocks(rows, tile.results[0]) * blocks(columns, tile.results[1])
        return tiles * blocks(problem.maps, tile.maps) * warps * work, -threads


def results_of(problem: Conv2d, positions: Size2) -> Size2:
    """Whole pooling windows in a tile of convolution positions; not positive without one."""
    if problem.pool is None:
        return positions
    (height, width), (down, across) = problem.pool.window, problem.pool.stride
    return (positions[0] - height) // down + 1, (positions[1] - width) // across + 1


def inputs_of(problem: Conv2d, positions: Size2) -> Size2:
    """Input rows and columns, halo included, that convolution positions read."""
    (height, width), (down, across) = problem.mask, problem.stride
    return (positions[0] - 1) * down + height, (positions[1] - 1) * across + width
