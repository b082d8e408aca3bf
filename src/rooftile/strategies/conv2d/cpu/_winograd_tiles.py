"""Generate the two-dimensional transform of `winograd`: tiles of 4x4 outputs.

A unit of work is one row of tiles of one image.  Its input is transformed with
vectors along the tiles (one lane a tile), the sum over channels is a matrix
multiplication at each of size x size positions with vectors along the maps, and
the output transform keeps those, so that the pool is a maximum of registers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import vector
from rooftile.ops import Conv2d, Float32
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.conv2d.cpu._epilogue import Epilogue
from rooftile.strategies.conv2d.cpu._stage import Staged
from rooftile.strategies.conv2d.cpu._toom_cook import OUTPUTS, Transforms, toom_cook


@dataclass(frozen=True)
class SquareTile:
    """A problem (its batch does not matter) and the block of its matrix multiplication."""

    problem: Conv2d
    lanes: int
    group: int
    """Tiles of one multiplication: each has an accumulator for every vector of maps."""
    across: int
    """Vectors of maps."""

    @classmethod
    def of(cls, problem: Conv2d) -> SquareTile:
        """The largest block that the registers hold."""
        lanes = vector.lanes()
        across = 1 if problem.maps <= lanes else 2
        room = min(lanes, (vector.registers() - 1 - across) // across)
        tiles = -(-problem.conv_span[1] // OUTPUTS)
        groups = -(-tiles // room)
        return cls(problem, lanes, -(-tiles // groups), across)

    @property
    def size(self) -> int:
        """Inputs of a tile in each dimension."""
        return toom_cook(self.problem.mask[0]).size

    @property
    def tiles(self) -> int:
        """Tiles of a row that have outputs."""
        return -(-self.problem.conv_span[1] // OUTPUTS)

    @property
    def groups(self) -> int:
        """Groups that cover a row."""
        return -(-self.tiles // self.group)

    @property
    def window(self) -> tuple[int, int]:
        """The pool's window; (1, 1) without a pool."""
        return self.problem.pool.window if self.problem.pool else (1, 1)

    @property
    def band(self) -> int:
        """Result rows of a unit of work."""
        return OUTPUTS // self.window[0]

    @property
    def bands(self) -> int:
        """Units of work of an image."""
        return -(-self.problem.output_size[0] // self.band)

    @property
    def maps(self) -> int:
        """Maps of one multiplication."""
        return self.across * self.lanes

    @property
    def staged(self) -> Staged:
        """The addresses of one channel's input rows, with zeros as far as the vectors reach."""
        reach = (self.groups - 1) * self.group * OUTPUTS + OUTPUTS + 4 * self.lanes
        return Staged(self.problem, self.size, -(-reach // self.lanes), self.lanes, whole=True)

    @property
    def position(self) -> int:
        """Distance between transformed positions of the input. It is a cache line longer than
        needed, so that positions fall into different cache sets."""
        return self.groups * self.problem.channels * self.lanes + 16

    @property
    def starts(self) -> tuple[int, int, int, int]:
        """Offsets in scratch: transformed input, products, a block's square, staged rows."""
        square = self.size * self.size
        products = square * self.position
        block = products + square * self.groups * self.group * self.maps
        return 0, products, block, block + square * self.lanes

    @property
    def scratch(self) -> int:
        """float32 of each thread's workspace."""
        return self.starts[3] + self.staged.plane

    @property
    def transformed_weights(self) -> int:
        """float32 of packed transformed weights."""
        blocks = -(-self.problem.maps // self.maps)
        return blocks * self.size**2 * self.problem.channels * self.maps

    def pack(self, weights: Float32) -> Float32:
        """``G w G^T`` as [maps / block][size * size][channels][block], maps padded with zeros."""
        g = toom_cook(self.problem.mask[0]).weights_matrix()
        transformed = (g @ weights.astype(np.float64) @ g.T).reshape(*weights.shape[:2], -1)
        spare = -self.problem.maps % self.maps
        padded = np.pad(transformed, ((0, spare), (0, 0), (0, 0)))
        blocks = padded.reshape(-1, self.maps, *padded.shape[1:])
        return blocks.transpose(0, 3, 2, 1).astype(np.float32).ravel()


def emit_input(tile: SquareTile, to: Writer, transforms: Transforms) -> None:
    """Write the input transform of the tile row of image ``n`` at result row ``top``; ``bad``
    becomes NaN where an input of it is not finite."""
    p, n, lanes, staged = tile.problem, tile.size, tile.lanes, tile.staged
    _, _, block, rows = tile.starts
    to.line(f"image = n * {p.channels * p.height * p.width}")
    with to.block(f"for c in range({p.channels}):"):
        staged.emit_channel(to, "image", f"top * {tile.window[0]}", str(rows))
        with to.block(f"for g in range({tile.groups}):"):
            to.line(f"s = {rows} + g * {tile.group * OUTPUTS}")
            to.line(f"d = (g * {p.channels} + c) * {lanes}")
            names, into = [f"j{k}" for k in range(n)], [f"r{k}" for k in range(n)]
            with to.block(f"for i in range({n}):"):
                _emit_columns(to, f"s + i * {staged.row}", n, lanes)
                transforms.emit_input(to, names, into)
                at = [f"{block} + (i * {n} + {k}) * {lanes}" for k in range(n)]
                to.line(
                    *(f"store_aligned(scratch, {a}, {r})" for a, r in zip(at, into, strict=True))
                )
            with to.block(f"for k in range({n}):"):
                at = [f"{block} + ({i * n} + k) * {lanes}" for i in range(n)]
                to.line(*(f"{j} = load(scratch, {a})" for j, a in zip(names, at, strict=True)))
                transforms.emit_input(to, names, into)
                # Zero and infinity, first and last, see every input between them.
                to.line(f"bad = fma(r0, nought, fma(r{n - 1}, nought, bad))")
                at = [f"d + ({i * n} + k) * {tile.position}" for i in range(n)]
                to.line(
                    *(f"store_aligned(scratch, {a}, {r})" for a, r in zip(at, into, strict=True))
                )


def _emit_columns(to: Writer, at: str, size: int, lanes: int) -> None:
    """Vectors ``j0`` to ``j<size-1>``: column k of every tile, one lane a tile, tiles 4 apart."""
    for base in range(0, size, 4):
        to.line(*(f"l{q} = load(scratch, {at} + {base + q * lanes})" for q in range(4)))
        to.line(
            "e0 = even(l0, l1)",
            "e1 = even(l2, l3)",
            "o0 = odd(l0, l1)",
            "o1 = odd(l2, l3)",
            f"j{base} = even(e0, e1)",
            f"j{base + 1} = even(o0, o1)",
        )
        if base + 2 < size:
            to.line(f"j{base + 2} = odd(e0, e1)", f"j{base + 3} = odd(o0, o1)")


def emit_maps(tile: SquareTile, to: Writer, transforms: Transforms) -> None:
    """Write, for each block of maps, the multiplications and the output transform."""
    p, lanes, maps = tile.problem, tile.lanes, tile.maps
    square = tile.size * tile.size
    _, products, _, _ = tile.starts
    with to.loop("block", -(-p.maps // maps)) as block:
        with to.block(f"for k in range({square}):"), to.block(f"for g in range({tile.groups}):"):
            sums = [(t, q) for t in range(tile.group) for q in range(tile.across)]
            to.line(*(f"a{t}_{q} = nought" for t, q in sums))
            to.line(
                f"u = ({block} * {square} + k) * {p.channels * maps}",
                f"v = k * {tile.position} + g * {p.channels * lanes}",
            )
            with to.block(f"for c in range({p.channels}):"):
                for q in range(tile.across):
                    to.line(f"w{q} = load(weights, u + c * {maps} + {q * lanes})")
                for t in range(tile.group):
                    to.line(f"x{t} = splat_at(scratch, v + c * {lanes} + {t})")
                    to.line(*(f"a{t}_{q} = fma(w{q}, x{t}, a{t}_{q})" for q in range(tile.across)))
            to.line(
                f"m = {products} + (k * {tile.groups * tile.group} + g * {tile.group}) * {maps}"
            )
            to.line(
                *(f"store_aligned(scratch, m + {t * maps + q * lanes}, a{t}_{q})" for t, q in sums)
            )
        with to.loop("part", tile.across) as part:
            m = f"({block} * {maps} + {part} * {lanes})"
            # The last block's second vector may have no map.
            with to.block(f"if {m} < {p.maps}:"), to.block(f"for tile in range({tile.tiles}):"):
                _emit_output(tile, to, transforms, m, part)


def _emit_output(tile: SquareTile, to: Writer, transforms: Transforms, m: str, part: str) -> None:
    """Write one tile of one vector of maps: ``A^T Y A``, bias and pool, then lane after lane."""
    n, lanes, p = tile.size, tile.lanes, tile.problem
    _, products, block, _ = tile.starts
    row = tile.groups * tile.group * tile.maps
    to.line(f"s = {products} + tile * {tile.maps} + {part} * {lanes}")
    names = [f"j{i}" for i in range(n)]
    with to.block(f"for k in range({n}):"):
        to.line(*(f"{j} = load(scratch, s + ({i * n} + k) * {row})" for i, j in enumerate(names)))
        into = [f"y{i}" for i in range(OUTPUTS)]
        transforms.emit_output(to, names, into)
        to.line(
            *(
                f"store_aligned(scratch, {block} + ({i * n} + k) * {lanes}, {y})"
                for i, y in enumerate(into)
            )
        )
    to.line(f"shift = load_part(bias, {m}, min({lanes}, {p.maps} - {m}))")
    end = Epilogue(p, tile.band, lanes, to)
    height, width = tile.window
    for i in range(OUTPUTS):
        into = [f"z{k}" for k in range(OUTPUTS)]
        at = [f"{block} + {(i * n + k) * lanes}" for k in range(n)]
        to.line(*(f"{j} = load(scratch, {a})" for j, a in zip(names, at, strict=True)))
        transforms.emit_output(to, names, into)
        for k, name in enumerate(into):
            result = (i // height) * (OUTPUTS // width) + k // width
            first = i % height == 0 and k % width == 0
            value = f"add({name}, shift)"
            if p.pool is None:
                to.line(f"m{result} = {value}")
            else:
                end.fold(f"m{result}", value, first)
    results = tile.band * (OUTPUTS // width)
    for k in range(results):
        to.line(f"store_aligned(scratch, {block + k * lanes}, {end.activated(f'm{k}')})")
    _emit_scatter(tile, to, end, m)


def _emit_scatter(tile: SquareTile, to: Writer, end: Epilogue, m: str) -> None:
    """Lanes are maps: each goes to its own plane of the result."""
    p, block, lanes = tile.problem, tile.starts[2], tile.lanes
    rows, columns = p.output_size
    width = OUTPUTS // tile.window[1]
    code = ACTIVATION_CODES[p.activation]
    to.line(f"columns = min({width}, {columns} - tile * {width})")
    with to.block(f"for lane in range(min({lanes}, {p.maps} - {m})):"):
        to.line(f"o = ((n * {p.maps} + {m} + lane) * {rows} + top) * {columns} + tile * {width}")
        for i in range(tile.band):
            with end.kept(str(i)), to.block("for k in range(columns):"):
                value = f"scratch[{block} + ({i * width} + k) * {lanes} + lane]"
                value = f"activate({value}, {code})" if code > 1 else value
                to.line(f"out[o + {i * columns} + k] = {value}")
