"""Tiles of rungs that read both matrices from shared memory: what fits, how long it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rooftile.devices.gpu import Launch, TensorMap
from rooftile.ops import Array
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.contract.machine import Multiprocessors

_LINE = 128
"""Bytes of a slice's terms, of a line of a box, and of what one store writes."""
_ALIGNED = 16
"""Bytes in which the copy engine counts an array's lines."""
_MOST_STAGES, _MOST_REGISTERS, _COPIER_REGISTERS = 16, 240, 24
_OTHER_REGISTERS = 30
"""Registers that a thread needs besides its sums."""
_SHARE = 4
"""Columns by which blocks share a tile's: with 36 each the engine's swizzle goes on."""

# What a multiprocessor does in a clock, for the defaults, fitted to times on an H200: bytes from
# the last-level cache, where its neighbour reads as well and where that idles, into shared memory,
# and in and out of it.  Clocks of a tile, of a part and of a cluster, beside the slices, of a slice
# that blocks share, and of one that each warpgroup takes to registers.
_CACHE_RATE, _LONE_CACHE_RATE, _FILL_RATE, _SHARED_RATE = 26, 36, 57, 128
_TILE_CLOCKS, _PART_CLOCKS, _CLUSTER_CLOCKS, _MEETING_CLOCKS, _HELD_CLOCKS = 1500, 1500, 500, 80, 20


@dataclass(frozen=True)
class Side:
    """A matrix of the product: its places, rows or columns, by the terms."""

    array: Array
    places: int
    lies_across: bool
    """True if its lines are terms."""


def sides(problem: Matmul, swapped: int) -> tuple[Side, Side]:
    """The left and the right matrix of a product: a and b, or both turned where it is swapped."""
    a = Side(problem.arrays[0], problem.rows, problem.transpose_a)
    b = Side(problem.arrays[1], problem.columns, not problem.transpose_b)
    return (b, a) if swapped else (a, b)


@dataclass(frozen=True)
class Tile:
    """A block's tile of a problem."""

    problem: Matmul
    config: Config
    element_bytes: int
    machine: Multiprocessors

    numbers: ClassVar[int] = 1
    """In which an element is held."""
    products: ClassVar[int] = 1
    """Of such numbers that stand for one of elements."""

    @property
    def sides(self) -> tuple[Side, Side]:
        """The left and the right matrix."""
        return sides(self.problem, self.config["SWAPPED"])

    @property
    def result_bytes(self) -> int:
        """Of a result in memory."""
        return self.problem.output_arrays[0].itemsize

    @property
    def rows(self) -> int:
        """Of the left matrix."""
        return 64 * self.config["WARPGROUPS"]

    @property
    def columns(self) -> int:
        """Of the right one."""
        return self.config["TILE_C"]

    @property
    def sharing(self) -> int:
        """Blocks that share what they bring."""
        return self.config["ROW_BLOCKS"] * self.config["COLUMN_BLOCKS"]

    @property
    def cluster(self) -> int:
        """Blocks of a cluster."""
        return self.sharing * self.config["PARTS"]

    @property
    def threads(self) -> int:
        return 128 * (self.config["WARPGROUPS"] + 1)

    @property
    def clusters(self) -> tuple[int, int]:
        """Clusters' tiles down and across."""
        left, right = self.sides
        down = blocks(left.places, self.rows * self.config["ROW_BLOCKS"])
        return down, blocks(right.places, self.columns * self.config["COLUMN_BLOCKS"])

    @property
    def resident(self) -> int:
        """Clusters that run at a time.  Multiprocessors come in groups; of larger clusters some do
        not fit."""
        places = self.machine.multiprocessors
        return max(1, (places if self.cluster <= 2 else places * 9 // 10) // self.cluster)

    def launch(self, kernel: str) -> Launch:
        """The product's launch. Blocks stay and take tile after tile, unless they share one."""
        down, across = self.clusters
        works = down * across if self.config["PARTS"] > 1 else min(down * across, self.resident)
        grid, block = (works * self.cluster, 1, 1), (self.threads, 1, 1)
        return Launch(kernel, grid, block, self.shared_bytes, overlaps=True)

    @property
    def storing(self) -> str:
        """The storage of results: in pieces of whole lines, by each lane, or as parts, added."""
        if self.config["PARTS"] > 1:
            return "PARTED"
        whole = self.config["SWAPPED"] or self.columns * self.result_bytes % _LINE == 0
        lines = self.problem.columns * self.result_bytes
        # Behind such products, where no block waits for others, the compiler serialises products.
        alone = self.config["SWAPPED"] and self.sharing == 1 and self.result_bytes == 2
        return "STORED_PIECES" if whole and lines % _ALIGNED == 0 and not alone else "STORED_LANES"

    @property
    def chunk(self) -> int:
        """Columns that a warp stores at a time."""
        most = _LINE // self.result_bytes
        if not self.config["SWAPPED"]:
            return most
        return next(count for count in range(most, 0, -8) if self.columns % count == 0)

    def maps(self, names: Mapping[str, str], rounded: bool) -> list[TensorMap]:
        """A block's copies of both matrices: a share of the places or, where lines are terms, of
        the terms. ``names`` are of arrays that stand for a or b."""
        line, size, found = _LINE // self.element_bytes, self.element_bytes, []
        shares = (
            (self.rows, self.config["COLUMN_BLOCKS"]),
            (self.columns, self.config["ROW_BLOCKS"]),
        )
        for side, (places, count) in zip(self.sides, shares, strict=True):
            box = (line // count, line) if side.lies_across else (places // count, line)
            array = side.array
            found.append(
                TensorMap(names.get(array.name, array.name), array.shape, box, size, rounded)
            )
        return found

    @property
    def stage_bytes(self) -> int:
        return self.numbers * _LINE * (self.rows + self.columns)

    @property
    def blocks(self) -> int:
        """Blocks of a multiprocessor. Where few tiles share terms, or all but two of their slices
        find room in half of its memory, the next launch may begin during this one's blocks."""
        fit = self.held <= self.machine.register_room(2 * self.threads)
        if not fit or self.config["WARPGROUPS"] > 1:
            return 1
        down, across = self.clusters
        few = down * across * self.cluster <= self.machine.multiprocessors
        slices = blocks(self.problem.inner * self.element_bytes, _LINE)
        room = few and slices <= self._stages(2) + 2
        return 2 if room or self.config["PARTS"] > 1 else 1

    @property
    def stages(self) -> int:
        """Number of stages that fit."""
        return self._stages(self.blocks)

    def _stages(self, beside: int) -> int:
        """Barriers take 16 bytes each."""
        room = self.machine.shared_room(beside) - self._buffers
        return min(_MOST_STAGES, room // (self.stage_bytes + 16))

    @property
    def shared_bytes(self) -> int:
        """Of a block."""
        return self.stages * (self.stage_bytes + 16) + self._buffers

    @property
    def _buffers(self) -> int:
        """Bytes through which pieces are stored: one of each warpgroup."""
        if self.storing != "STORED_PIECES":
            return 0
        return self.config["WARPGROUPS"] * self.chunk * 64 * self.result_bytes

    @property
    def _read_bytes(self) -> int:
        """Bytes of a slice that products read: every warpgroup its rows and all columns."""
        return self.products * self.config["WARPGROUPS"] * _LINE * (64 + self.columns)

    @property
    def held(self) -> int:
        return self.columns // 2 + _OTHER_REGISTERS

    @property
    def entry(self) -> int:
        """Registers that threads begin with."""
        return min(_MOST_REGISTERS, self.machine.register_room(self.blocks * self.threads))

    @property
    def registers(self) -> int:
        """Registers of a thread that multiplies: what the threads that copy give up is shared
        out; 0 where they have enough."""
        if self.config["WARPGROUPS"] == 1 or self.held + 32 < self.entry:
            return 0
        rest = self.entry * self.threads - 128 * _COPIER_REGISTERS
        return min(_MOST_REGISTERS, rest // (self.threads - 128) // 8 * 8)

    @property
    def invalid(self) -> str | None:
        right, line = self.sides[1], _LINE // self.element_bytes
        if right.lies_across and self.element_bytes == 4:
            return "the cores want lines of the right matrix to be columns"
        if right.lies_across and self.columns % line:
            return f"{self.columns} columns in boxes of {line}"
        if self.columns // self.config["ROW_BLOCKS"] % _SHARE:
            return f"{self.config['ROW_BLOCKS']} blocks share {self.columns} columns by fours"
        if self.config["PARTS"] > 1 and self.sharing > 1:
            return "blocks of a cluster share rows and columns, or terms"
        if self.cluster > 8:
            return f"clusters of {self.cluster} blocks"
        if self.stages < 2:
            return "no 2 stages fit"
        # Sums of parts take the place of stages, in lines a little longer than the tile's.
        sums = 4 * (self.rows + 8) * (self.columns + 8)
        if self.config["PARTS"] > 1 and sums > self.stages * self.stage_bytes:
            return f"{sums} bytes of sums"
        room = self.registers or self.entry
        if self.held > room:
            return f"{self.held} registers of a thread, where {room} are"
        return None

    @property
    def clocks(self) -> float:
        """About how long it takes."""
        down, across = self.clusters
        parts, count = self.config["PARTS"], down * across * self.cluster
        slices = blocks(blocks(self.problem.inner * self.element_bytes, _LINE), parts)
        shared = self.rows / self.config["COLUMN_BLOCKS"] + self.columns / self.config["ROW_BLOCKS"]
        alone = 2 * count <= self.machine.multiprocessors
        slice_clocks = max(
            self.products * 2 * self.rows * self.columns / 64,
            self.numbers * _LINE * shared / (_LONE_CACHE_RATE if alone else _CACHE_RATE),
            self.stage_bytes / _FILL_RATE,
            (self.stage_bytes + self._read_bytes) / _SHARED_RATE,
        )
        if self.sides[0].lies_across and self.element_bytes == 4:
            # Rows pass through registers.
            slice_clocks += _HELD_CLOCKS * self.config["WARPGROUPS"]
        beside = parts * _PART_CLOCKS
        if self.sharing > 1:
            slice_clocks, beside = slice_clocks + _MEETING_CLOCKS, beside + _CLUSTER_CLOCKS
        rounds = blocks(down * across, self.resident)
        if rounds > 1 and self.cluster > 2:
            # How many large clusters run at a time differs from device to device.
            return math.inf
        return rounds * (slices * slice_clocks + _TILE_CLOCKS) + beside
