"""The base of the GPU strategies of `reduce`."""

from __future__ import annotations

import math
from typing import ClassVar

from rooftile.analysis.accesses import Accesses, Counted, apart, stored_apart
from rooftile.analysis.cooperation import chain, in_turn, shared_tree
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.operator import SUM
from rooftile.ops.patterns.reduce import Reduce
from rooftile.strategies.common.grid import MOST_BLOCKS, blocks
from rooftile.strategies.common.operators import CARRIED_BYTES, operator_macros
from rooftile.strategies.common.rows import numbers_of
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

MOST_ROWS = 2**31 - 1
_FINISH_THREADS = 256
_CHAIN = 4
"""Largest number of elements that a thread combines one after the other, in roots of their number:
roundings of half a unit each, all in one direction, stay within the budget of two roots."""


class GpuReduce(GpuStrategy):
    """A GPU strategy of `reduce`."""

    operation = "reduce"
    takes = features("axis dtype:* operator:*")
    wide_indices = True

    def limits(self, problem: Reduce) -> str | None:
        if problem.rows > MOST_ROWS:
            return f"{problem.rows} results, at most {MOST_ROWS}"
        return None

    def macros(self, problem: Reduce, config: Config) -> dict[str, int | str]:
        real = problem.carried.startswith("float")
        return {
            **operator_macros(problem.operator, problem.dtype),
            "ADJACENT": int(problem.inner == 1),
            "FINAL": int(self.segments(problem, config) == 1),
            "LOSES": int(problem.operator == SUM and real),
            "BYTES_SUMMED": int(problem.operator == SUM and problem.dtype == "uint8"),
            "GIVEN_BYTES": problem.input_arrays[0].numpy.itemsize,
            "FINISH_THREADS": _FINISH_THREADS,
            **config,
        }

    def segments(self, problem: Reduce, config: Config) -> int:
        """Partial results of a row."""
        return 1

    def workspace(self, problem: Reduce, config: Config) -> dict[str, int]:
        segments = self.segments(problem, config)
        bytes_ = CARRIED_BYTES[problem.carried] * problem.rows * segments
        return {"partials": blocks(bytes_, 4)} if segments > 1 else {}

    def both(self, problem: Reduce, config: Config, first: Launch) -> tuple[Step, ...]:
        """The kernel that reduces segments, then the last one, unless a row has one segment."""
        segments, numbers = self.segments(problem, config), numbers_of(problem)
        if segments == 1:
            return (Step(first, ("x", "results", *numbers)),)
        finish = Launch(self.kernel("finish"), (problem.rows, 1, 1), (_FINISH_THREADS, 1, 1))
        return (
            Step(first, ("x", "partials", *numbers)),
            Step(finish, ("partials", "results", segments)),
        )

    def brought(self, problem: Reduce, blocks_: int) -> Accesses:
        """Every element once, by threads that take neighbours of a row; a result a block."""
        size = problem.input_arrays[0].numpy.itemsize
        count = problem.rows * problem.columns
        return apart(count, problem.inner, size) + stored_apart(blocks_)

    def joined(self, problem: Reduce, config: Config, made: Accesses) -> Counted:
        """The accesses of the kernel of segments, and of the last one, unless a row has one
        segment."""
        segments, rows = self.segments(problem, config), problem.rows
        if segments == 1:
            return {self.kernel(): made}
        size = CARRIED_BYTES[problem.carried]
        share = blocks(segments, _FINISH_THREADS)
        finish = apart(rows * segments, share, size) + stored_apart(rows)
        finish += chain(rows * segments, share)
        finish += shared_tree(_FINISH_THREADS // 2, "compacted", rows, size // 4)
        return {self.kernel(): made, self.kernel("finish"): finish}


class TiledReduce(GpuReduce):
    """A block reduces one tile of a row."""

    tunables: ClassVar[tuple[Tunable, ...]] = (Tunable("THREADS", (64, 128, 256, 512, 1024), 256),)

    def tile(self, config: Config) -> int:
        return 2 * config["THREADS"]

    def limits(self, problem: Reduce) -> str | None:
        if self.segments(problem, self.defaults(problem)) > MOST_ROWS:
            return f"{problem.columns} elements of a result"
        return super().limits(problem)

    def segments(self, problem: Reduce, config: Config) -> int:
        """Tiles of a row."""
        return blocks(problem.columns, self.tile(config))

    def steps(self, problem: Reduce, config: Config) -> tuple[Step, ...]:
        grid = (self.segments(problem, config), min(problem.rows, MOST_BLOCKS), 1)
        return self.both(problem, config, Launch(self.kernel(), grid, (config["THREADS"], 1, 1)))

    def in_block(self, problem: Reduce, config: Config, tiles: int) -> Accesses:
        """The accesses of ``tiles`` tiles' blocks to the elements that they have loaded."""
        raise NotImplementedError

    def accesses(self, problem: Reduce, config: Config) -> Counted:
        """Tiles, and what they gave."""
        tiles = problem.rows * self.segments(problem, config)
        made = self.brought(problem, tiles) + self.in_block(problem, config, tiles)
        made = in_turn(made, blocks(problem.rows, MOST_BLOCKS))
        return self.joined(problem, config, made)


class PersistentReduce(GpuReduce):
    """No more blocks than the device holds share out the rows."""

    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("THREADS", (64, 128, 256, 512, 1024), 256),
        Tunable("BLOCKS", (1, 2, 4, 8, 16), 8),
    )

    def loads(self, config: Config) -> int:
        """Elements that a thread has to combine, for a segment to pay."""
        return 1

    def segments(self, problem: Reduce, config: Config) -> int:
        """As many of a row as keep every multiprocessor busy, and none emptier than its threads;
        more where a thread would add up too much in one chain."""
        wanted = blocks(config["BLOCKS"] * self.machine.multiprocessors, problem.rows)
        full = blocks(problem.columns, config["THREADS"] * self.loads(config))
        short = shortened(problem, config["THREADS"] * self.loads(config))
        return max(1, min(max(wanted, short), full))

    def grid(self, problem: Reduce, config: Config) -> tuple[int, int, int]:
        """Segments, and rows as far as a grid has blocks."""
        return self.segments(problem, config), min(problem.rows, MOST_BLOCKS), 1

    def shares(self, problem: Reduce, config: Config) -> Accesses:
        """The accesses before the tree: each thread combines its share of a segment, one after
        another."""
        threads = self.segments(problem, config) * config["THREADS"]
        return chain(problem.rows * problem.columns, blocks(problem.columns, threads))


def shortened(problem: Reduce, at_once: int) -> int:
    """Segments of a row, each of which combines ``at_once`` elements at a time, whose chains are
    short enough for the budget of a sum."""
    return blocks(math.isqrt(problem.columns), _CHAIN * at_once)
