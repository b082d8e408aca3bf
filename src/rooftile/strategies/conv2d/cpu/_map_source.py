"""Generate the kernel of `map_vectors`: one text for all problems with the same register block.

A vector holds neighbouring maps of one output.  A block of vectors x outputs stays in registers
from the bias to the pooled result: each tap is a vector of weights for every output, and a
broadcast input for every vector.  At the end the block is transposed, since the result has the
outputs of a map beside each other.

Sizes come at run time, so that layers share a compilation.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from rooftile.devices.cpu.emit import Writer
from rooftile.ops.pooling import Pool
from rooftile.strategies.common.transposition import emit_transposition

SIZES = (
    "channels", "height", "width", "maps", "tall", "wide", "down", "above", "left", "rows",
    "columns", "bands", "code", "chunk", "share", "kept",
)  # fmt: skip
"""What the kernel is told: the image, the mask, its vertical stride, the padding, the result's rows
and columns, how many bands of rows an image has, the activation's code, the channels that are
summed in one go, those that all blocks of a band sum before they go on to the next ones, and where
in scratch their sums wait."""

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
    """Whether the block is as wide as the result, so that its rows are beside each other there."""
    staged: bool
    """Whether the rows behind a band are copied to scratch, with their padding."""
    chunked: bool
    """Whether long sums are made of short ones."""
    lanes: int

    @property
    def group(self) -> int:
        """Maps of a block."""
        return self.vectors * self.lanes

    @property
    def window(self) -> tuple[int, int]:
        """Of the pool; (1, 1) without one."""
        return self.pool.window if self.pool else (1, 1)

    @property
    def outputs(self) -> list[tuple[int, int]]:
        """Row and column of each convolution output of a map."""
        high, wide = self.window
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
    """As few equal parts as have at most so many cells."""
    count = -(-len(cells) // most)
    ends = [len(cells) * k // count for k in range(count + 1)]
    return [cells[a:b] for a, b in pairwise(ends)]


def generate(block: MapBlock) -> str:
    """Source of a module with ``kernel(x, weights, bias, out, scratch, sizes, begin, end)``.

    A unit of work is a group of maps in a band of rows of an image.
    """
    to = Writer()
    if block.staged:
        _emit_stage(to, block)
    _emit_block(to, block)
    _emit_kernel(to, block)
    return to.text()


def _emit_kernel(to: Writer, block: MapBlock) -> None:
    """Write the loop over units.  A band is staged for its first group of maps, or the thread's."""
    step, (high, across) = block.rows, block.window
    with to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"):
        to.line(*(f"{name} = sizes[{k}]" for k, name in enumerate(SIZES)))
        to.line(
            f"groups, steps = (maps + {block.group - 1}) // {block.group}, rows // {step}",
        )
        if block.staged:
            to.line(f"pitch = (columns * {across} - 1) * {block.stride} + wide")
        else:
            to.line("pitch, plane = width, height * width")
        with to.block("for unit in range(begin, end):"):
            to.line(
                "g, part, n = unit % groups, unit // groups % bands, unit // groups // bands",
                f"top, last = steps * part // bands * {step}, part + 1 == bands",
                f"bottom = rows if last else steps * (part + 1) // bands * {step}",
                f"image, first = n * channels * height * width, top * {high} * down",
            )
            if block.staged:
                to.line(f"deep = ((bottom - top) * {high} - 1) * down + tall")
                to.line("plane, base = deep * pitch, 0")
                with to.block("if unit == begin or g == 0:"):
                    to.line(
                        "stage(x, image, scratch, channels, height, width, first - above, left,"
                        " deep, pitch)"
                    )
            else:
                to.line("base = image + first * pitch")
            _emit_blocks(to, block)


def _emit_stage(to: Writer, block: MapBlock) -> None:
    """Write the copy of the rows behind a band, padded with zeros.

    Whole vectors are stored: what they hold beyond a row is written again with the next one, and
    there is room beyond the last.
    """
    lanes = block.lanes
    with (
        to.block(
            "def stage(x, image, scratch, channels, height, width, first, left, deep, pitch):"
        ),
        to.block("for c in range(channels):"),
        to.block("for r in range(deep):"),
    ):
        to.line(
            "i, t = first + r, (c * deep + r) * pitch",
            "s = image + (c * height + i) * width",
            "inside = max(0, min(width, pitch - left)) if i >= 0 and i < height else 0",
            f"full = inside // {lanes} * {lanes}",
        )
        with to.block(f"for j in range(0, min(left, pitch), {lanes}):"):
            to.line("store(scratch, t + j, splat(float32(0.0)))")
        with to.block(f"for j in range(0, full, {lanes}):"):
            to.line("store(scratch, t + left + j, load(x, s + j))")
        with to.block(f"for j in range(full, pitch - left, {lanes}):"):
            to.line("store(scratch, t + left + j, load_part(x, s + j, max(0, inside - j)))")
    to.line("", "")


def _emit_blocks(to: Writer, block: MapBlock) -> None:
    """Write the loops over a band's blocks; the last ones are moved back to be whole.

    The weights from ``coming`` to ``limit`` are the next group's: each block brings ``pace`` of
    them near for every few channels, whole cache lines, until all have been.
    """
    (high, across), source = block.window, "scratch" if block.staged else "x"
    to.line(
        f"count = (bottom - top + {block.rows - 1}) // {block.rows}"
        f" * ((columns + {block.columns - 1}) // {block.columns})",
        f"pace = ({block.group * FEW} * tall * wide + 16 * count - 1) // (16 * count) * 16",
        f"m, terms = g * {block.group}, channels * tall * wide",
        f"coming = (g + 1) % groups * {block.group} * terms",
        f"limit = coming + {block.group} * terms",
    )
    with to.block("for start in range(0, channels, share):"):
        to.line("stop, totals = min(channels, start + share), kept")
        with (
            to.block(f"for i in range(top, bottom, {block.rows}):"),
            to.block(f"for j in range(0, columns, {block.columns}):"),
        ):
            to.line(
                f"row, column = min(i, bottom - {block.rows}), min(j, columns - {block.columns})",
                f"at = base + (row - top) * {high} * down * pitch"
                f" + column * {across * block.stride}",
                f"block({source}, at, plane, pitch, channels, tall, wide, down, weights, m * terms,"
                " coming, pace, limit, bias, m, maps - m, out,"
                " ((n * maps + m) * rows + row) * columns + column, rows * columns, columns, code,"
                " scratch, chunk, start, stop, totals)",
                f"coming += pace * ((stop - start + {FEW - 1}) // {FEW})",
                f"totals += {block.size * block.lanes}",
            )


def _emit_block(to: Writer, block: MapBlock) -> None:
    """Write the register block, whose maps from ``valid`` on do not exist."""
    lanes = block.lanes
    sums = [f"a{v}_{r}_{q}" for v in range(block.vectors) for r, q in block.outputs]
    to.line("@apart")
    with to.block(
        "def block(x, at, plane, pitch, channels, tall, wide, down, weights, w, coming, pace,"
        " limit, bias, b, valid, out, o, area, columns, code, scratch, chunk, start, stop, totals):"
    ):
        for v in range(block.vectors):
            count = f"max(0, min({lanes}, valid - {v * lanes}))"
            to.line(f"bias{v} = load_part(bias, b + {v * lanes}, {count})")
            to.line(*(f"a{v}_{r}_{q} = bias{v}" for r, q in block.outputs))
        if block.chunked:
            _emit_chunks(to, block, sums)
        else:
            _emit_taps(to, block, "0", "channels")
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
    to.line("", "")


def _emit_chunks(to: Writer, block: MapBlock, sums: list[str]) -> None:
    """Write the sum of the sums of chunks of channels, from ``start`` on; the results are made of
    the last ones' totals."""
    places = [f"totals + {k * block.lanes}" for k in range(len(sums))]
    with to.block("if start == 0:"):
        to.line(*(f"store(scratch, {at}, {a})" for at, a in zip(places, sums, strict=True)))
    with to.block("for first in range(start, stop, chunk):"):
        to.line(*(f"{a} = splat(float32(0.0))" for a in sums))
        _emit_taps(to, block, "first", "min(stop, first + chunk)")
        for at, a in zip(places, sums, strict=True):
            to.line(f"{a} = add(load(scratch, {at}), {a})", f"store(scratch, {at}, {a})")
    with to.block("if stop < channels:"):
        to.line("return")


def _emit_taps(to: Writer, block: MapBlock, begin: str, end: str) -> None:
    """Write the sum over the taps of some channels.

    Inputs of the next channel, too far away for the processor to see them coming, are brought near
    meanwhile, and weights of the next group.
    """
    with to.block(f"for few in range({begin}, {end}, {FEW}):"):
        to.line(f"near = coming + (few - start) // {FEW} * pace")
        with to.block("for k in range(near, min(near + pace, limit), 16):"):
            to.line("prefetch2(weights, k)")
        with (
            to.block(f"for c in range(few, min({end}, few + {FEW})):"),
            to.block("for y in range(tall):"),
        ):
            to.line("line, row = at + c * plane + y * pitch, (c * tall + y) * wide")
            for r in range(block.rows * block.window[0]):
                following = f"line + plane + {r} * down * pitch"
                to.line(*(f"prefetch1(x, {following} + {q})" for q in block.lines))
            if block.wide:
                for z in range(block.wide):
                    _emit_tap(to, block, str(z))
            else:
                with to.block("for z in range(wide):"):
                    _emit_tap(to, block, "z")


def _emit_tap(to: Writer, block: MapBlock, z: str) -> None:
    """Write the multiplications by column ``z`` of the mask's row."""
    to.line(f"here = anchored(x[line + {z} :])")
    for v in range(block.vectors):
        at = f"w + ({v} * channels * tall * wide + row + {z}) * {block.lanes}"
        to.line(f"w{v} = load(weights, {at})")
    for r, q in block.outputs:
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
        for m, row in enumerate(square, v * block.lanes):
            with to.block(f"if {m} < valid:"):
                to.line(f"store_part(out, o + {m} * area + {r} * columns + {q}, {row}, {len(run)})")
