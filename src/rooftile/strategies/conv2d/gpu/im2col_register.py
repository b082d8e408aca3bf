"""`im2col_register`: implicit matrix multiply with joint register and shared tiling.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.,
section 16.4, with the tiling of Volkov and Demmel, "Benchmarking GPUs to Tune Dense
Linear Algebra", SC08.
"""

from __future__ import annotations

import math

import numpy as np

from rooftile.analysis.accesses import (
    SECTOR_FLOATS,
    WARP,
    Accesses,
    broadcasts,
    row_loads,
    row_stores,
    vector_loads,
)
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d, Float32
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d.gpu._accesses import real_share, window
from rooftile.strategies.conv2d.gpu._base import GpuConv2d, blocks

_TILE, _THREADS = 128, 256


class Im2colRegister(GpuConv2d):
    """Takes pools of one, two or four positions a window."""

    name = "im2col_register"
    summary = "implicit matrix multiply, 8 x 8 results a thread, the pool folded in registers"
    tunables = (Tunable("TILE_K", (8, 16), 16),)

    def limits(self, problem: Conv2d) -> str | None:
        """Windows that are not 1, 2 or 4 neighbours among a thread's pixels."""
        pool = problem.pool
        if pool is not None and 4 % (pool.window[0] * pool.window[1]):
            return f"a thread has four neighbouring pixels, a window {pool.window} of the pool more"
        return None

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        """The problem's sizes, the tunables, and the maps in whole tiles."""
        padded = blocks(problem.maps, _TILE) * _TILE
        return {**super().macros(problem, config), "PADDED_MAPS": padded}

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """[taps][maps], channels innermost among the taps, zeros up to whole tiles of both."""
        taps = weights.transpose(2, 3, 1, 0).reshape(-1, problem.maps)
        depth = blocks(taps.shape[0], config["TILE_K"]) * config["TILE_K"] - taps.shape[0]
        return np.pad(taps, ((0, depth), (0, -problem.maps % _TILE)))

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        """One kernel over tiles of pixels and maps."""
        rows, columns = problem.output_size
        window = problem.pool.window if problem.pool else (1, 1)
        pixels = problem.batch * rows * columns * window[0] * window[1]
        grid = (blocks(pixels, _TILE), blocks(problem.maps, _TILE), 1)
        launch = Launch(self.kernel(), grid, (_THREADS, 1, 1))
        return (Step(launch, ("x", "weights", "bias", "out", problem.batch)),)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """Vectors of packed weights, and pixels that follow each other window by window."""
        (high, wide), depth = window(problem)[0], problem.reduction - 1
        results = math.prod(problem.output_shape)
        pixels = problem.batch * math.prod(problem.output_size) * high * wide
        across, down, _ = self.steps(problem, config)[0].launch.grid
        stages = blocks(depth, config["TILE_K"]) * config["TILE_K"]
        found = vector_loads(across * down * stages * _TILE / 4)
        # A warp's pixels lie in `high` rows; windows beside each other are neighbours in a row.
        run = min(WARP // high, problem.output_size[1] * wide)
        runs = pixels * depth * down / run * real_share(problem)
        found += row_loads(run, runs, stride=problem.stride[1], lanes=run)
        found += broadcasts(results / WARP)
        # A thread stores neighbouring results of eight maps.
        found += row_stores(results, 1, lanes=SECTOR_FLOATS)
        # Four vectors a thread and tap: 16 threads a warp read different ones of the pixels.
        warps = pixels / _TILE * down * _THREADS / WARP
        return {self.kernel(): found + Accesses(shared_reads=warps * stages * 4)}


STRATEGY = Im2colRegister()
