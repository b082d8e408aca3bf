"""A block's tile of the gathered matrix product, and its layout in shared memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rooftile.ops import Conv2d
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.conv2d.gpu._base import blocks

_WORDS = 8
"""Words of an instruction's depth, whatever the type."""


@dataclass(frozen=True)
class Words:
    """The words of a sum's terms: one number of 32 bits, or two of 16 bits that are neighbours in a
    row (``columns``), or of the same pixel in two channels."""

    planes: int
    """Channels, or pairs of them."""
    columns: bool
    right: int
    """Words of a mask's row."""
    down: int
    """Rows of the mask."""
    packed: bool = False
    """True if a tile has a word for every second column alone: with an even stride no pixel wants
    the others."""
    shift: int = 0
    """Columns before a mask's first one that its first word begins with: then words of a row begin
    at even columns of the image."""

    @classmethod
    def of(cls, problem: Conv2d, size: int) -> Words:
        """The words of numbers of ``size`` bytes; of 16 bits the pairs that waste less."""
        (down, right), channels = problem.mask, problem.channels
        if size == 4:
            return cls(channels, False, right, down)
        packed = problem.stride[1] % 2 == 0
        shift = problem.padding[1] % 2 if packed else 0
        by_columns = blocks(right + shift, 2)
        if channels * by_columns > blocks(channels, 2) * right:
            return cls(blocks(channels, 2), False, right, down)
        return cls(channels, True, by_columns, down, packed, shift)

    @property
    def count(self) -> int:
        """Words of a sum."""
        return self.planes * self.down * self.right

    @property
    def steps(self) -> int:
        return blocks(self.count, _WORDS)

    @property
    def apart(self) -> int:
        """Words of a tile's row from one word of a mask's row to the next."""
        return 2 if self.columns and not self.packed else 1


@dataclass(frozen=True)
class Tile:
    """Results of some images, rows, columns and maps, and the inputs that they need."""

    problem: Conv2d
    words: Words
    images: int
    rows: int
    columns: int
    maps: int

    @property
    def sums(self) -> tuple[int, int]:
        """Rows and columns of the convolution that the results are made of."""
        pool = self.problem.pool
        if pool is None:
            return self.rows, self.columns
        (high, wide), (down, right) = pool.window, pool.stride
        return (self.rows - 1) * down + high, (self.columns - 1) * right + wide

    @property
    def pixels(self) -> int:
        """Sums of a map."""
        return self.images * math.prod(self.sums)

    @property
    def inputs(self) -> tuple[int, int, int]:
        """Planes, rows, and words of a row, of an image's inputs."""
        (rows, columns), (down, right), words = self.sums, self.problem.stride, self.words
        across = (columns - 1) * (right // 2 if words.packed else right)
        return (
            words.planes,
            (rows - 1) * down + words.down,
            across + (words.right - 1) * words.apart + 1,
        )

    @property
    def input_words(self) -> int:
        return self.images * math.prod(self.inputs)

    def tasks(self, pixels: int, maps: int) -> int:
        """Shares of ``pixels`` pixels and ``maps`` maps."""
        return blocks(self.pixels, pixels) * (self.maps // maps)

    @property
    def tap_words(self) -> int:
        """Words of the maps' weights."""
        return self.words.steps * _WORDS * self.maps

    @property
    def staged_pitch(self) -> int:
        """Sums from map to map, so that what a warp's lanes keep meets all banks: four lanes have
        every second map of eight pixels."""
        return blocks(max(self.pixels - 4, 0), 16) * 16 + 4

    def staged(self, last: bool) -> int:
        """Sums that wait to be stored, [maps][pixels], or with the maps last."""
        return self.pixels * (self.maps + 8) if last else self.maps * self.staged_pitch

    def bytes(self, last: bool) -> int:
        """Shared memory: weights, places of the words, and inputs or sums."""
        held = max(blocks(self.input_words, 4) * 4, self.staged(last))
        return 4 * (self.tap_words + self.words.steps * _WORDS + held)

    @property
    def flat(self) -> int:
        """Words that a thread brings at a time where a plane's rows lie one behind the other, as
        inputs and as words: up to four.  0 where they do not."""
        problem, (_, _, right) = self.problem, self.inputs
        if problem.padding != (0, 0) or self.words.columns or right != problem.width:
            return 0
        pool = problem.pool.stride[0] if problem.pool else 1
        down = self.rows * pool * problem.stride[0] if self.across[0] > 1 else 0
        sizes = (problem.height, down, self.inputs[1])
        return math.gcd(4, *(rows * problem.width for rows in sizes))

    def run_lanes(self, last: bool) -> int:
        """Lanes that take a run of words, so that few are idle; of equals the most."""
        words = self.inputs[2] * (self.words.planes if last else 1)
        return min((32, 16, 8), key=lambda lanes: blocks(words, lanes) * lanes)

    def stored(self, last: bool) -> int:
        """Results that one store takes: up to four that are adjacent in every line."""
        rows, columns = self.problem.output_size
        if last:
            return math.gcd(4, self.problem.maps, self.maps)
        if self.line_rows > 1:
            return math.gcd(4, rows * columns, self.rows * columns)
        return math.gcd(4, columns, self.columns)

    @property
    def line_rows(self) -> int:
        """Rows of a map that lie one behind the other, as sums and as results."""
        whole = self.problem.pool is None and self.columns == self.problem.output_size[1]
        return self.rows if whole else 1

    @property
    def across(self) -> tuple[int, int, int]:
        """Tiles down and right in an image, and over the maps."""
        rows, columns = self.problem.output_size
        return (
            blocks(rows, self.rows),
            blocks(columns, self.columns),
            blocks(self.problem.maps, self.maps),
        )

    @property
    def grid(self) -> int:
        """Tiles of all images, for each tile of maps."""
        return blocks(self.problem.batch, self.images) * math.prod(self.across[:2])


def tile_of(problem: Conv2d, size: int, config: Config) -> Tile:
    """A config's tile for operands of ``size`` bytes: no larger than the results are."""
    rows, columns = problem.output_size
    return Tile(
        problem,
        Words.of(problem, size),
        config["TILE_IMAGES"],
        min(rows, config["TILE_ROWS"]),
        min(columns, config["TILE_COLUMNS"]),
        config["TILE_MAPS"],
    )
