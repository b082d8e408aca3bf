"""The base of the GPU strategies of `conv3d` and `stencil`: tiles of volumes, one launch a step."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rooftile.analysis.accesses import Accesses, warps_of
from rooftile.analysis.pictures import Panels, filter_tile, result_tile, window
from rooftile.devices.gpu import Launch
from rooftile.ops import AnyArray
from rooftile.ops.patterns.volumes import Size3, before
from rooftile.strategies.common.grid import CONSTANT_BYTES, beyond_block, blocks
from rooftile.strategies.common.volume_accesses import (
    active_warps,
    column_conflicts,
    results,
    taps_of,
    thread_a_sum,
    tile_loads,
    tiles_of,
)
from rooftile.strategies.contract.gpu import Config, Fill, GpuStrategy, Step

_MOST_TILES = 2**31 - 1
"""Blocks of a grid in x."""
_MOST_UNROLLED = 4096
"""Multiply-adds that a thread's loops over a mask are written out to."""


@dataclass(frozen=True)
class Tile:
    """A block's tile; sizes are planes, rows and columns."""

    sums: Size3
    """Places of which it makes the sums."""
    threads: Size3
    shared_floats: int = 0
    """Of shared memory whose size the text fixes."""

    @property
    def thread_count(self) -> int:
        """Threads of the block."""
        return math.prod(self.threads)


class VolumeStrategy(GpuStrategy):
    """A kernel ``sums`` over tiles of places of a `VolumeProblem`; its weights are in constant
    memory.

    Sums of several steps are made by as many launches. All but the last one are of the whole
    volume, also where each step shrinks it: the remaining part does not depend on the surroundings.
    """

    wide_indices = True
    aligned_columns: int = 1
    """Of which number the column of each tile is a multiple."""

    @abstractmethod
    def tile(self, problem: Any, config: Config) -> Tile: ...

    def unrolled(self, problem: Any, config: Config) -> int:
        """Multiply-adds of a thread that its text has written out."""
        return 0

    def dynamic_bytes(self, problem: Any, config: Config) -> int:
        """Shared memory of a block whose size the launch fixes."""
        return 0

    def limits(self, problem: Any) -> str | None:
        needed = 4 * problem.maps * problem.channels * math.prod(problem.mask)
        if needed > CONSTANT_BYTES:
            return f"the weights take {needed:,} bytes, constant memory has {CONSTANT_BYTES:,}"
        return self.invalid(problem, self.defaults(problem))

    def invalid(self, problem: Any, config: Config) -> str | None:
        tile = self.tile(problem, config)
        if min(tile.sums) < 1:
            return f"a mask of {problem.mask}: no sum is left of the tile"
        unrolled = self.unrolled(problem, config)
        if unrolled > _MOST_UNROLLED:
            return f"{unrolled} multiply-adds a thread are written out, at most {_MOST_UNROLLED}"
        grid = self.grid(problem, config)
        if grid > _MOST_TILES:
            return f"{grid} tiles, at most {_MOST_TILES}"
        return beyond_block(tile.thread_count, 4 * tile.shared_floats)

    def covered(self, problem: Any) -> tuple[Size3, Size3]:
        """The first place of which a sum is made, and at how many places one is."""
        if problem.steps > 1 or problem.output_size == problem.size:
            return (0, 0, 0), problem.size
        planes, rows, column = problem.crop
        first = column // self.aligned_columns * self.aligned_columns
        depth, height, width = problem.output_size
        return (planes, rows, first), (depth, height, width + column - first)

    def tiles(self, problem: Any, config: Config) -> Size3:
        """Number of tiles that cover the places, along each axis."""
        _, count = self.covered(problem)
        sums = self.tile(problem, config).sums
        counts = (blocks(n, max(1, size)) for n, size in zip(count, sums, strict=True))
        planes, rows, columns = counts
        return planes, rows, columns

    def grid(self, problem: Any, config: Config) -> int:
        """Tiles of all maps of all images."""
        return math.prod((*self.tiles(problem, config), problem.images, problem.maps))

    def macros(self, problem: Any, config: Config) -> dict[str, int | str]:
        first, count = self.covered(problem)
        return {
            "CHANNELS": problem.channels,
            "MAPS": problem.maps,
            "STAR": int(problem.star),
            **_axes(problem.size, "DEPTH", "HEIGHT", "WIDTH"),
            **_axes(problem.output_size, "PLANES", "ROWS", "COLUMNS"),
            **_axes(problem.mask, "MASK_DEPTH", "MASK_HEIGHT", "MASK_WIDTH"),
            **_axes(before(problem.mask), "BEFORE_Z", "BEFORE_Y", "BEFORE_X"),
            **_axes(problem.crop, "CROP_Z", "CROP_Y", "CROP_X"),
            **_axes(first, "FIRST_Z", "FIRST_Y", "FIRST_X"),
            **_axes(count, "COVER_Z", "COVER_Y", "COVER_X"),
            **_axes(self.tile(problem, config).sums, "TILE_Z", "TILE_Y", "TILE_X"),
            **_axes(self.tiles(problem, config), "TILES_Z", "TILES_Y", "TILES_X"),
            **config,
        }

    def packed(
        self, problem: Any, parameters: Mapping[str, AnyArray], config: Config
    ) -> dict[str, AnyArray]:
        return {"box": problem.dense(parameters[problem.parameter_arrays[0].name])}

    def constants(self, problem: Any, config: Config) -> dict[str, Fill]:
        taps = problem.maps * problem.channels * math.prod(problem.mask)
        return {"taps": Fill("box", taps)}

    def rounds(self, problem: Any, config: Config) -> int:
        """Launches."""
        return int(problem.steps)

    def workspace(self, problem: Any, config: Config) -> dict[str, int]:
        names = {to for _, to in self._route(problem, config)} - {"out"}
        return {name: math.prod(problem.size) for name in sorted(names)}

    def steps(self, problem: Any, config: Config) -> tuple[Step, ...]:
        tile, route = self.tile(problem, config), self._route(problem, config)
        planes, rows, columns = tile.threads
        grid = (self.grid(problem, config), 1, 1)
        shared = self.dynamic_bytes(problem, config)
        launch = Launch(self.kernel(), grid, (columns, rows, planes), shared, constants=("taps",))
        found = []
        for number, (source, to) in enumerate(route):
            last = int(number == len(route) - 1)
            more = self.more(problem, config, number)
            found.append(Step(launch, (source, to, last, *more)))
        return tuple(found)

    def more(self, problem: Any, config: Config, number: int) -> tuple[int, ...]:
        """Further arguments of a launch."""
        return ()

    def _route(self, problem: Any, config: Config) -> list[tuple[str, str]]:
        """From which grid to which each launch goes; the result is one of them where it has the
        grid's size."""
        count = self.rounds(problem, config)
        spare = "other" if problem.output_size != problem.size else "out"
        targets = ["between" if left % 2 else spare for left in range(count - 1, 0, -1)] + ["out"]
        return list(zip(["x", *targets[:-1]], targets, strict=True))


def _axes(sizes: Size3, *names: str) -> dict[str, int]:
    return dict(zip(names, sizes, strict=True))


class PlainStrategy(VolumeStrategy):
    """A thread a sum, without shared memory."""

    reads_weights: bool = False
    """True if they come from global memory."""

    def tile(self, problem: Any, config: Config) -> Tile:
        threads = config["BLOCK_Z"], config["BLOCK_Y"], config["BLOCK_X"]
        return Tile(threads, threads)

    def accesses(self, problem: Any, config: Config) -> dict[str, Accesses]:
        """Every tap reads an input."""
        threads, covered = self.tile(problem, config).threads, self.covered(problem)
        found = thread_a_sum(problem, covered, threads, weights=self.reads_weights)
        return {self.kernel(): found}


class InputTileStrategy(VolumeStrategy):
    """A thread an element of the block's input tile: ``input_tile.h``."""

    def tile(self, problem: Any, config: Config) -> Tile:
        loaded = config["LOADED_Z"], config["LOADED_Y"], config["LOADED_X"]
        planes, rows, columns = (n - m + 1 for n, m in zip(loaded, problem.mask, strict=True))
        return Tile((planes, rows, columns), loaded, math.prod(loaded))

    def unrolled(self, problem: Any, config: Config) -> int:
        """A sum."""
        return math.prod(problem.mask)

    def accesses(self, problem: Any, config: Config) -> dict[str, Accesses]:
        """The tile of each channel, then an input from shared memory a tap."""
        tile, covered = self.tile(problem, config), self.covered(problem)
        loads = tile_loads(problem, covered, tile.sums, tile.threads)
        active, mixed = active_warps(tile.sums, tile.threads)
        tiles = tiles_of(problem, covered, tile.sums)
        reads = tiles * problem.channels * active * taps_of(problem)
        one = loads + Accesses(shared_reads=reads, divergent_warps=tiles * mixed)
        return {
            self.kernel(): times(one, problem.steps) + results(problem, problem.steps, tile.sums[2])
        }

    def picture(self, problem: Any, config: Config) -> Panels:
        """A plane of threads that make sums, and the plane of inputs under their mask's middle."""
        tile, (_, up, left) = self.tile(problem, config), before(problem.mask)
        (_, height, width), (_, rows, columns) = problem.size, problem.output_size
        (planes, *sums), (_, down, across) = tile.sums, tile.threads
        depth, *mask = problem.mask
        first = (0, 0) if problem.boundary == "valid" else (-up, -left)
        makes, one = planes // 2, (sums[0] // 2, sums[1] // 2)
        loads = makes + depth // 2

        def thread(plane: int) -> Callable[[int, int], int]:
            return lambda i, j: (plane * down + i) * across + j

        inputs, made = f"plane {loads} of the inputs, by thread", f"plane {makes} of the results"
        loaded, tiles = (down, across), (sums[0], sums[1])
        near = window(one, (mask[0], mask[1]), problem.star)
        return (
            filter_tile(inputs, (height, width), first, loaded, tiles, thread(loads), near),
            result_tile(made, (rows, columns), tiles, thread(makes), one, loaded),
        )


class CoarsenedStrategy(VolumeStrategy):
    """A column of sums a thread: ``coarsened_tile.h``."""

    def tile(self, problem: Any, config: Config) -> Tile:
        sums = config["THREAD_PLANES"], config["BLOCK_Y"], config["BLOCK_X"]
        loaded = math.prod(n + m - 1 for n, m in zip(sums, problem.mask, strict=True))
        return Tile(sums, (1, *sums[1:]), loaded)

    def unrolled(self, problem: Any, config: Config) -> int:
        """The sums of a column."""
        return math.prod((*problem.mask, config["THREAD_PLANES"]))

    def accesses(self, problem: Any, config: Config) -> dict[str, Accesses]:
        """The tile of each channel, then each value of a column once for all its sums."""
        tile, covered = self.tile(problem, config), self.covered(problem)
        planes, rows, columns = (n + m - 1 for n, m in zip(tile.sums, problem.mask, strict=True))
        loads = tile_loads(problem, covered, tile.sums, (planes, rows, columns))
        _, height, width = problem.mask
        values = planes * height * width
        if problem.star:
            # Of the columns next to a star's middle only the part in its sums' own planes.
            values = planes + (height - 1 + width - 1) * tile.sums[0]
        warps = tiles_of(problem, covered, tile.sums) * warps_of(tile.thread_count)
        passes = column_conflicts(tile.threads, columns)
        one = loads + Accesses(shared_reads=warps * problem.channels * values * passes)
        return {self.kernel(): times(one, problem.steps) + results(problem, problem.steps, columns)}


def times(one: Accesses, launches: int) -> Accesses:
    """The accesses of ``launches`` equal launches."""
    return sum((one for _ in range(launches - 1)), one)
