"""Generate the register block of `map_vectors`.

A vector holds neighbouring maps of one output. A block of vectors x outputs stays in registers from
the bias to the pooled result: each tap is a vector of weights for every output, and a broadcast
input for every vector. At the end the block is transposed, since a map's outputs are adjacent in
the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from rooftile.devices.cpu.emit import Writer
from rooftile.ops.layers.pooling import Pool
from rooftile.strategies.common.transposition import emit_transposition

FEW = 8
"""Channels between which weights are brought near."""


@dataclass(frozen=True)
class MapBlock:
    """The register block, and whatever else is written out in the text."""

    vectors: int
    """Of maps: a group."""
    rows: int
    columns: int
    """Of the result; the block sums the convolution outputs that their pool reads."""
    wide: int
    """Columns of the mask, if these are written out one after another; 0 if a loop takes them."""
    stride: int
    """Horizontally."""
    pool: Pool | None
    whole: bool
    """True if the block is as wide as the result, so that its rows are adjacent there."""
    staged: bool
    """True if the rows of a band are copied to scratch, with their padding."""
    chunked: bool
    """True if long sums are made of short ones."""
    lanes: int
    runs_on: bool = False
    """True if the columns are the convolution's and run on over the ends of rows: each has an
    address in a register, and a pool takes them from scratch."""
    pooled: int = 0
    """Then, columns of the result that are pooled together."""

    @property
    def group(self) -> int:
        return self.vectors * self.lanes

    @property
    def window(self) -> tuple[int, int]:
        """Of the pool; (1, 1) without one."""
        return self.pool.window if self.pool else (1, 1)

    @property
    def outputs(self) -> list[tuple[int, int]]:
        """Row and column of each convolution output of a map."""
        high, wide = (1, 1) if self.runs_on else self.window
        return [(r, q) for r in range(self.rows * high) for q in range(self.columns * wide)]

    @property
    def size(self) -> int:
        """Accumulators."""
        return self.vectors * len(self.outputs)

    @property
    def lines(self) -> list[int]:
        """Offsets of inputs, a cache line apart, that a row of the block reads for one tap."""
        last = (self.columns * self.window[1] - 1) * self.stride
        return list(range(0, last + 16, 16))

    @property
    def runs(self) -> list[list[tuple[int, int]]]:
        """Row and column of results that are stored together: at most a vector of them."""
        cells = [(r, q) for r in range(self.rows) for q in range(self.columns)]
        if self.whole:
            return _parts(cells, self.lanes)
        rows = [[cell for cell in cells if cell[0] == r] for r in range(self.rows)]
        return [run for row in rows for run in _parts(row, self.lanes)]


def _parts(cells: list[tuple[int, int]], most: int) -> list[list[tuple[int, int]]]:
    """The fewest equal parts of at most ``most`` cells."""
    count = -(-len(cells) // most)
    ends = [len(cells) * k // count for k in range(count + 1)]
    return [cells[a:b] for a, b in pairwise(ends)]


def emit_block(to: Writer, block: MapBlock) -> None:
    """Write the register block, whose maps from ``valid`` on do not exist.

    Of columns that run on, ``ahead`` are left in the band from the block's first one on.
    """
    lanes = block.lanes
    sums = [f"a{v}_{r}_{q}" for v in range(block.vectors) for r, q in block.outputs]
    to.line("@apart")
    with to.block(
        "def block(x, at, column, plane, pitch, channels, tall, wide, down, weights, w, next,"
        " coming, pace, limit, bias, b, valid, out, o, ahead, area, columns, code, scratch, start,"
        " stop, totals):"
    ):
        if block.runs_on:
            _emit_addresses(to, block)
        _emit_bias(to, block)
        if block.chunked:
            _emit_chunks(to, block, sums)
        else:
            _emit_taps(to, block)
        if block.pooled:
            size = block.vectors * lanes
            for v in range(block.vectors):
                to.line(
                    *(
                        f"store(scratch, o + {q * size + v * lanes}, a{v}_{r}_{q})"
                        for r, q in block.outputs
                    )
                )
        else:
            to.line(f"whole = valid >= {block.group} and ahead >= {block.columns + lanes}")
            _emit_end(to, block)
    to.line("", "")


def emit_pool(to: Writer, block: MapBlock) -> None:
    """Write how results of a row are pooled from the convolution's outputs in scratch, which begin
    at ``at`` and have rows of ``span``."""
    size, pooled = (
        block.vectors * block.lanes,
        replace(block, columns=block.pooled, runs_on=False, pooled=0),
    )
    with to.block("def pool(scratch, at, span, valid, out, o, area, columns, code):"):
        for v in range(block.vectors):
            for r, q in pooled.outputs:
                place = f"at + ({r} * span + {q}) * {size} + {v * block.lanes}"
                to.line(f"a{v}_{r}_{q} = load(scratch, {place})")
        _emit_end(to, pooled)
    to.line("", "")


def _emit_end(to: Writer, block: MapBlock) -> None:
    """Write what is done with the sums."""
    for v in range(block.vectors):
        _emit_results(to, block, v)
    with (
        to.block("if code > 1:"),
        to.block(f"for m in range(min(valid, {block.group})):"),
    ):
        for run in block.runs:
            r, q = run[0]
            place = f"o + m * area + {r} * columns + {q}"
            to.line(f"activate_row(out, {place}, {len(run)}, code)")


def _emit_addresses(to: Writer, block: MapBlock) -> None:
    """Write the addresses of each column's inputs: after the last column of a row the next
    row's."""
    to.line("x0 = x[at:]")
    for q in range(1, block.columns):
        to.line(
            "ends = 1 if column + 1 == columns else 0",
            f"at += {block.stride} + ends * (down * pitch - columns * {block.stride})",
            "column = (column + 1) * (1 - ends)",
            f"x{q} = x[at:]",
        )


def _emit_bias(to: Writer, block: MapBlock) -> None:
    """Write what the sums begin with.  With AVX2 a mask takes longer than a dozen sums."""
    lanes, vectors = block.lanes, range(block.vectors)
    with to.block(f"if valid >= {block.group}:"):
        to.line(*(f"bias{v} = load(bias, b + {v * lanes})" for v in vectors))
    with to.block("else:"):
        for v in vectors:
            count = f"max(0, min({lanes}, valid - {v * lanes}))"
            to.line(f"bias{v} = load_part(bias, b + {v * lanes}, {count})")
    to.line(*(f"a{v}_{r}_{q} = bias{v}" for v in vectors for r, q in block.outputs))


def _emit_chunks(to: Writer, block: MapBlock, sums: list[str]) -> None:
    """Write the sum of the sums of chunks of channels, of which this is one; the results are made
    of the last one's totals."""
    places = [f"totals + {k * block.lanes}" for k in range(len(sums))]
    with to.block("if start == 0:"):
        to.line(*(f"store(scratch, {at}, {a})" for at, a in zip(places, sums, strict=True)))
    to.line(*(f"{a} = splat(float32(0.0))" for a in sums))
    _emit_taps(to, block)
    for at, a in zip(places, sums, strict=True):
        to.line(f"{a} = add(load(scratch, {at}), {a})", f"store(scratch, {at}, {a})")
    with to.block("if stop < channels:"):
        to.line("return")


def _emit_taps(to: Writer, block: MapBlock) -> None:
    """Write the sum over the taps of the channels from ``start`` on. Inputs of the next channel,
    too far away for the processor to see them coming, are brought near meanwhile, and what is
    wanted next."""
    with to.block(f"for few in range(start, stop, {FEW}):"):
        to.line(f"near = coming + (few - start) // {FEW} * pace")
        with to.block("for k in range(near, min(near + pace, limit), 16):"):
            to.line("prefetch2(next, k)")
        with (
            to.block(f"for c in range(few, min(stop, few + {FEW})):"),
            to.block("for y in range(tall):"),
        ):
            to.line("line, row = c * plane + y * pitch, (c * tall + y) * wide")
            if block.runs_on:
                ends = (f"x{q}, line + plane" for q in (0, block.columns - 1))
                to.line(*(f"prefetch1({end})" for end in ends))
            else:
                for r in range(block.rows * block.window[0]):
                    following = f"at + line + plane + {r} * down * pitch"
                    to.line(*(f"prefetch1(x, {following} + {q})" for q in block.lines))
            if block.wide:
                for z in range(block.wide):
                    _emit_tap(to, block, str(z))
            else:
                with to.block("for z in range(wide):"):
                    _emit_tap(to, block, "z")


def _emit_tap(to: Writer, block: MapBlock, z: str) -> None:
    """Write the multiplications by column ``z`` of the mask's row."""
    if not block.runs_on:
        to.line(f"here = anchored(x[at + line + {z} :])")
    for v in range(block.vectors):
        at = f"w + ({v} * channels * tall * wide + row + {z}) * {block.lanes}"
        to.line(f"w{v} = load(weights, {at})")
    for r, q in block.outputs:
        if block.runs_on:
            to.line(f"u = splat_at(x{q}, line + {z})")
        else:
            to.line(f"u = splat_at(here, {r} * down * pitch + {q * block.stride})")
        names = [f"a{v}_{r}_{q}" for v in range(block.vectors)]
        to.line(*(f"{a} = fma(u, w{v}, {a})" for v, a in enumerate(names)))


def _emit_results(to: Writer, block: MapBlock, v: int) -> None:
    """Write activation, pool, transposition and stores of a vector of maps."""
    (high, wide), pool = block.window, block.pool
    with to.block("if code == 1:"):
        to.line(*(f"a{v}_{r}_{q} = relu(a{v}_{r}_{q})" for r, q in block.outputs))
    word = "add" if pool is not None and pool.kind == "average" else "maximum"
    for r in range(block.rows):
        for q in range(block.columns):
            window = [(r * high + i, q * wide + j) for i in range(high) for j in range(wide)]
            names = [f"a{v}_{i}_{j}" for i, j in window]
            to.line(f"y{r}_{q} = {names[0]}")
            to.line(*(f"y{r}_{q} = {word}(y{r}_{q}, {name})" for name in names[1:]))
            if word == "add":
                share = f"splat(float32({1.0 / len(names)!r}))"
                to.line(f"y{r}_{q} = multiply(y{r}_{q}, {share})")
    for run in block.runs:
        names = [f"y{r}_{q}" for r, q in run]
        r, q = run[0]
        square = emit_transposition(to, block.lanes, names + names[:1] * (block.lanes - len(run)))
        places = [
            f"out, o + {m} * area + {r} * columns + {q}, {row}"
            for m, row in enumerate(square, v * block.lanes)
        ]
        if not block.runs_on:
            _emit_parts(to, block, v, places, len(run))
            continue
        # What is written beyond the block is written again by the next one.
        with to.block("if whole:"):
            to.line(*(f"store({place})" for place in places))
        with to.block("else:"):
            _emit_parts(to, block, v, places, len(run))


def _emit_parts(to: Writer, block: MapBlock, v: int, places: list[str], count: int) -> None:
    """Write the stores of ``count`` results of each map that exists."""
    for m, place in enumerate(places, v * block.lanes):
        with to.block(f"if {m} < valid:"):
            to.line(f"store_part({place}, {count})")
