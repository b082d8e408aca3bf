"""Generate the row transform of `winograd`: Toom-Cook along the height only.

For tall masks over few channels: a tile of four convolution rows becomes
``taps + 3`` transformed rows, and for each of them the convolution is a
one-dimensional one along the width.  Everything of a tile stays in the
first-level cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import vector
from rooftile.ops import Conv2d, Float32
from rooftile.strategies.conv2d.cpu._epilogue import Epilogue
from rooftile.strategies.conv2d.cpu._stage import Staged
from rooftile.strategies.conv2d.cpu._toom_cook import OUTPUTS, Transforms, toom_cook


@dataclass(frozen=True)
class RowTile:
    """A problem (its batch does not matter) and its register block, maps x vectors."""

    problem: Conv2d
    lanes: int
    maps: int
    across: int

    @classmethod
    def of(cls, problem: Conv2d) -> RowTile:
        """The block that fills the registers."""
        lanes, room = vector.lanes(), vector.registers() - 3
        maps = max(m for m in (1, 2, 4, 8) if m <= problem.maps and 2 * m <= room)
        vectors = -(-problem.conv_span[1] // lanes)
        groups = -(-vectors // max(1, (room - maps) // maps))
        return cls(problem, lanes, maps, -(-vectors // groups))

    @property
    def vectors(self) -> int:
        """Vectors that cover a row of the convolution."""
        return -(-self.problem.conv_span[1] // self.lanes)

    @property
    def pool_rows(self) -> int:
        """Convolution rows of one result row."""
        return self.problem.pool.window[0] if self.problem.pool else 1

    @property
    def band(self) -> int:
        """Result rows of a tile: a unit of work."""
        return OUTPUTS // self.pool_rows

    @property
    def bands(self) -> int:
        """Tiles of an image."""
        return -(-self.problem.output_size[0] // self.band)

    @property
    def size(self) -> int:
        """Transformed rows."""
        return toom_cook(self.problem.mask[0]).size

    @property
    def staged(self) -> Staged:
        """The addresses of a tile's input rows."""
        return Staged(self.problem, self.size, self.vectors, self.lanes)

    @property
    def row(self) -> int:
        """Distance between transformed rows."""
        return -(-(self.vectors * self.lanes + self.problem.mask[1] - 1) // self.lanes) * self.lanes

    @property
    def products(self) -> int:
        """float32 of one register block's transformed results."""
        return self.size * self.maps * self.across * self.lanes

    @property
    def transformed(self) -> int:
        """float32 of a tile's transformed input."""
        return self.size * self.problem.channels * self.row

    @property
    def scratch(self) -> int:
        """float32 of each thread's workspace."""
        return self.products + self.transformed + self.staged.size

    @property
    def transformed_weights(self) -> int:
        """float32 of packed transformed weights."""
        blocks = -(-self.problem.maps // self.maps)
        return blocks * self.maps * self.size * self.problem.channels * self.problem.mask[1]

    def pack(self, weights: Float32) -> Float32:
        """``G w`` as [maps / block][size][channels][mask width][block], maps padded with zeros."""
        g = toom_cook(self.problem.mask[0]).weights_matrix()
        transformed = np.einsum("pk,mckx->pcxm", g, weights.astype(np.float64))
        spare = -self.problem.maps % self.maps
        padded = np.pad(transformed, ((0, 0), (0, 0), (0, 0), (0, spare)))
        blocks = padded.reshape(*padded.shape[:3], -1, self.maps)
        return blocks.transpose(3, 0, 1, 2, 4).astype(np.float32).ravel()


def emit_input(tile: RowTile, to: Writer, transforms: Transforms) -> None:
    """Write the input transform of the tile of image ``n`` at result row ``top``; ``bad``
    becomes NaN where an input of it is not finite."""
    start = tile.products
    p, staged = tile.problem, tile.staged
    to.line(f"image = n * {p.channels * p.height * p.width}")
    if staged.needed:
        base = start + tile.transformed
        to.line(f"base = {base}")
        staged.emit(to, "image", f"top * {tile.pool_rows}", start=base)
    else:
        to.line(f"base = image + top * {tile.pool_rows * p.width}")
    _emit_transform(tile, to, transforms, start)


def _emit_transform(tile: RowTile, to: Writer, transforms: Transforms, start: int) -> None:
    p, staged, lanes = tile.problem, tile.staged, tile.lanes
    columns = p.conv_span[1] + p.mask[1] - 1
    whole, rest = divmod(columns, lanes)
    source = "scratch" if staged.needed else "x"

    def put(row: int, at: str, value: str) -> None:
        into = f"{start} + ({row} * {p.channels} + c) * {tile.row} + {at}"
        to.line(f"store(scratch, {into}, {value})")

    def column(at: str, part: int) -> None:
        names = [f"j{i}" for i in range(tile.size)]
        for i, name in enumerate(names):
            offset = f"base + c * {staged.plane} + {i * staged.row} + {at}"
            read = f"load({source}, {offset})"
            to.line(f"{name} = {f'load_part({source}, {offset}, {part})' if part else read}")
        rows = [f"r{i}" for i in range(tile.size)]
        transforms.emit_input(to, names, rows)
        # The rows of zero and of infinity see every input between them.
        to.line(f"bad = fma({rows[0]}, nought, fma({rows[-1]}, nought, bad))")
        for i, name in enumerate(rows):
            put(i, at, name)

    with to.block(f"for c in range({p.channels}):"):
        if whole:
            with to.block(f"for v in range({whole}):"):
                column(f"v * {lanes}", 0)
        if rest:
            column(str(whole * lanes), rest)
        # A row's last vector reads on past the columns that outputs need.
        for at in range(-(-columns // lanes) * lanes, tile.row, lanes):
            for i in range(tile.size):
                put(i, str(at), "nought")


def emit_maps(tile: RowTile, to: Writer, transforms: Transforms) -> None:
    """Write the loops over map blocks and column groups of a transformed tile."""
    whole, rest = divmod(tile.problem.maps, tile.maps)
    groups, tail = divmod(tile.vectors, tile.across)
    ragged = tile.problem.conv_span[1] % tile.lanes
    if ragged and not tail:
        groups, tail = groups - 1, tile.across

    def columns(block: str, maps: int) -> None:
        if groups:
            with to.loop("g", groups) as g:
                at = f"{g} * {tile.across * tile.lanes}"
                _emit_block(tile, to, transforms, block, maps, at, tile.across, 0)
        if tail:
            at = str(groups * tile.across * tile.lanes)
            _emit_block(tile, to, transforms, block, maps, at, tail, ragged)

    if whole:
        with to.loop("block", whole) as block:
            columns(block, tile.maps)
    if rest:
        columns(str(whole), rest)


def _emit_block(
    tile: RowTile,
    to: Writer,
    transforms: Transforms,
    block: str,
    maps: int,
    column: str,
    vectors: int,
    ragged: int,
) -> None:
    """One register block: a 1D convolution for each transformed row, then ``A^T`` and the end."""
    p, lanes = tile.problem, tile.lanes
    sums = [(q, v) for q in range(maps) for v in range(vectors)]
    width = p.mask[1]
    with to.block(f"for p in range({tile.size}):"):
        to.line(*(f"a{q}_{v} = nought" for q, v in sums))
        with to.loop("c", p.channels) as c:
            to.line(
                f"s = {tile.products} + (p * {p.channels} + {c}) * {tile.row} + {column}",
                f"w = (({block} * {tile.size} + p) * {p.channels} + {c}) * {width * tile.maps}",
            )
            for kx in range(width):
                to.line(*(f"t{v} = load(scratch, s + {kx + v * lanes})" for v in range(vectors)))
                for q in range(maps):
                    to.line(f"tap = splat_at(weights, w + {kx * tile.maps + q})")
                    to.line(*(f"a{q}_{v} = fma(tap, t{v}, a{q}_{v})" for v in range(vectors)))
        for k, (q, v) in enumerate(sums):
            to.line(f"store_aligned(scratch, (p * {len(sums)} + {k}) * {lanes}, a{q}_{v})")
    valid = vectors * lanes - (lanes - ragged if ragged else 0)
    # A loop instead of a row of copies saves the compiler's time.
    with to.block(f"for q in range({maps}):"):
        to.line(f"shift = splat_at(bias, {block} * {tile.maps} + q)")
        for v in range(vectors):
            names = [f"j{i}" for i in range(tile.size)]
            at = [f"({i * maps * vectors + v} + q * {vectors}) * {lanes}" for i in range(tile.size)]
            to.line(*(f"{j} = load(scratch, {a})" for j, a in zip(names, at, strict=True)))
            rows = [f"y{r}" for r in range(OUTPUTS)]
            transforms.emit_output(to, names, rows)
            _emit_fold(tile, to, rows, v)
        _emit_end(tile, to, f"{block} * {tile.maps} + q", column, vectors, valid)


def _emit_fold(tile: RowTile, to: Writer, rows: list[str], v: int) -> None:
    """Write bias and vertical pool of one vector's four rows."""
    end = Epilogue(tile.problem, tile.band, tile.lanes, to)
    for r, y in enumerate(rows):
        result, inside = divmod(r, tile.pool_rows)
        if tile.problem.pool is None:
            to.line(f"m{result}_{v} = add({y}, shift)")
        else:
            end.fold(f"m{result}_{v}", f"add({y}, shift)", inside == 0)


def _emit_end(tile: RowTile, to: Writer, m: str, column: str, vectors: int, valid: int) -> None:
    end = Epilogue(tile.problem, tile.band, tile.lanes, to)
    for result in range(tile.band):
        folded = [f"m{result}_{v}" for v in range(vectors)]
        if tile.problem.pool is None:
            end.store(m, folded, str(result), column, valid)
        else:
            end.finish(m, folded, str(result), column, valid)
