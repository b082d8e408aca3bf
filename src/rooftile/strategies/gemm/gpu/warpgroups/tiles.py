"""Tiles of the rungs on Hopper's warpgroups: what of them fits, and how long they take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rooftile.ops import Linear
from rooftile.strategies.common.cores import MOST_SUMMED, Cores
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.contract.machine import Multiprocessors

_MOST_STAGES = 8
_MOST_BOX = 256
"""Rows that one copy of the engine brings."""
_MOST_REGISTERS, _FETCHER_REGISTERS = 240, 24
_OTHER_REGISTERS = 24
"""Registers of a thread that multiplies, besides its sums and its images."""
_INSTRUCTION_REGISTERS = 30
"""Registers that the compiler wants besides an instruction's sums."""

# What a multiprocessor does in a clock, for the defaults: bytes of shared memory and from the
# last-level cache; clocks until a copy is there, and until a second kernel has started.
_SHARED_RATE, _CACHE_RATE, _COPY_CLOCKS, _FINISH_CLOCKS = 128, 32, 1000, 8000


@dataclass(frozen=True)
class Tile:
    """A block's tile of a config, for a strategy's cores."""

    config: Config
    cores: Cores
    machine: Multiprocessors
    x_bytes: int = 4
    """Of an input."""
    numbers: ClassVar[int] = 1
    """Numbers of the cores' type that stand for one weight."""

    @property
    def rows(self) -> int:
        """Images."""
        return 64 * self.config["WARPGROUPS"]

    @property
    def cluster(self) -> int:
        """Blocks that share images."""
        return self.config.get("CLUSTER", 1)

    @property
    def outputs(self) -> int:
        return self.config["TILE_O"]

    @property
    def slice(self) -> int:
        """Inputs in 128 bytes of an image."""
        return 128 // self.x_bytes

    @property
    def weight_bytes(self) -> int:
        """Bytes of a weight in the cores' type."""
        return self.cores.bytes

    @property
    def instructions(self) -> int:
        """Instructions in the depth of a slice. A lane has as many words of each row in half a
        slice."""
        return self.slice * self.weight_bytes // 32

    @property
    def weights(self) -> int:
        """Bytes of a slice's weights."""
        return self.numbers * self.outputs * self.slice * self.weight_bytes

    @property
    def stage(self) -> int:
        """Bytes of a stage."""
        return 128 * self.rows + self.weights

    @property
    def stages(self) -> int:
        """Number of stages that fit; barriers take 16 bytes each."""
        room = self.machine.shared_room(self.config["BLOCKS"])
        return min(_MOST_STAGES, room // (self.stage + 16))

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory that a block takes."""
        return self.stages * (self.stage + 16)

    @property
    def threads(self) -> int:
        return 64 + 64 + 2 * self.rows

    @property
    def boxes(self) -> int:
        """Copies that bring a slice of the images."""
        return max(self.cluster, blocks(self.rows, _MOST_BOX))

    @property
    def entry(self) -> int:
        """Registers with which every thread of a block begins."""
        registers = self.machine.register_room(self.config["BLOCKS"] * self.threads)
        return min(_MOST_REGISTERS, registers)

    @property
    def registers(self) -> int:
        """Registers of a thread that multiplies: what the threads that copy give up is shared
        out."""
        if self.config["WARPGROUPS"] == 1:
            return self.entry
        rest = self.entry * self.threads - 128 * _FETCHER_REGISTERS
        return min(_MOST_REGISTERS, rest // (self.threads - 128) // 8 * 8)

    @property
    def held(self) -> int:
        images = self.config["HELD"] * 2 * self.instructions
        return self.outputs // 2 + images + _OTHER_REGISTERS

    @property
    def wanted(self) -> int:
        """Registers that the compiler wants to be there from the start."""
        return self.outputs // 2 + _INSTRUCTION_REGISTERS

    @property
    def clocks(self) -> float:
        """Time of a slice: the longest of products, shared memory, cache, and waiting for it."""
        warpgroups, products = self.config["WARPGROUPS"], 2 * self.numbers - 1
        # The cores read weights in the time of 64 bytes a clock, every warpgroup its own.
        read = products * warpgroups * self.weights // self.numbers
        return max(
            read / 64,
            (read + 2 * 128 * self.rows + self.weights) / _SHARED_RATE,
            (128 * self.rows / self.cluster + self.weights) / _CACHE_RATE,
            _COPY_CLOCKS / self.stages,
        )


class SplitTile(Tile):
    """A tile whose numbers are split in two, high and low; three products stand for one."""

    numbers = 2

    @property
    def summed(self) -> int:
        """Outputs that are summed at a time."""
        return min(self.config["SUM_O"], self.outputs)

    @property
    def held(self) -> int:
        sums = self.outputs // 2 + min(2, self.outputs // self.summed) * self.summed // 2
        return sums + 4 * self.instructions * self.numbers + _OTHER_REGISTERS

    @property
    def wanted(self) -> int:
        """Registers that the compiler wants to be there from the start."""
        return self.summed // 2 + _INSTRUCTION_REGISTERS


@dataclass(frozen=True)
class Shares:
    """The shares of blocks in a layer's tiles."""

    layer: Linear
    tile: Tile

    @property
    def down(self) -> int:
        """Rows of tiles."""
        return blocks(self.layer.batch, self.tile.rows)

    @property
    def across(self) -> int:
        """Tiles of a row."""
        return blocks(self.layer.outputs, self.tile.outputs)

    @property
    def slices(self) -> int:
        """Number of the inputs' slices."""
        return blocks(self.layer.inputs, self.tile.slice)

    @property
    def parts(self) -> int:
        """Number of the inputs' parts, where a tile is computed in parts."""
        return self.tile.config["PARTS"]

    @property
    def slots(self) -> int:
        """Blocks that are there at a time, in whole clusters."""
        cluster, machine = self.tile.cluster, self.tile.machine
        whole = self.tile.config["BLOCKS"] * machine.multiprocessors // cluster * cluster
        return max(whole, cluster)

    @property
    def whole(self) -> int:
        """Rows of tiles that are not computed in parts: those that fill the device."""
        if self.parts == 1:
            return self.down
        if self.tile.numbers == 1 and self.layer.inputs > MOST_SUMMED:
            return 0
        return self.down * self.across // self.slots * self.slots // self.across

    @property
    def works(self) -> int:
        """Number of tiles and parts that clusters take one by one: tiles of whole rows come first,
        then parts."""
        rows = self.whole + (self.down - self.whole) * self.parts
        return rows * (self.across // self.tile.cluster)

    @property
    def apart(self) -> int:
        """Images that are computed in parts."""
        return max(0, self.layer.batch - self.whole * self.tile.rows)

    @property
    def most_apart(self) -> int:
        """The most such images, for any smaller batch."""
        if self.parts == 1:
            return 0
        rows = (self.slots // self.across + 1) * self.tile.rows
        return max(self.apart, min(self.layer.batch, rows))

    @property
    def clocks(self) -> float:
        """An estimate, to choose among tiles."""
        cluster = self.tile.cluster
        whole = self.whole * self.across
        rounds = blocks(whole, self.slots) * self.slices
        rounds += blocks(self.works * cluster - whole, self.slots) * blocks(self.slices, self.parts)
        clocks = rounds * self.tile.clocks * self.tile.config["BLOCKS"]
        if not self.apart:
            return clocks
        sums = self.parts * self.apart * self.layer.outputs
        machine = self.tile.machine
        return clocks + _FINISH_CLOCKS + 8 * sums / (_CACHE_RATE * machine.multiprocessors)
