"""Generate the kernel of `map_vectors`: one text for all problems with the same register block.

A unit of work is a group of maps in a band of rows of an image.  Sizes come at run time, so that
layers share a compilation.
"""

from __future__ import annotations

from rooftile.devices.cpu.emit import Writer
from rooftile.strategies.conv2d.cpu._map_block import FEW, MapBlock, emit_block, emit_pool

SIZES = (
    "channels", "height", "width", "maps", "tall", "wide", "down", "above", "left", "rows",
    "columns", "bands", "code", "chunk", "kept",
)  # fmt: skip
"""The kernel's sizes: the image, the mask, its vertical stride, the padding, the result's rows and
columns, the bands of rows of an image, the activation's code, the channels that all blocks of a
band sum in one go before they go on to the next ones, and the offset of their sums in scratch."""


def generate(block: MapBlock) -> str:
    """Source of a module with ``kernel(x, weights, bias, out, scratch, sizes, begin, end)``."""
    to = Writer()
    if block.staged:
        _emit_stage(to, block)
    emit_block(to, block)
    if block.pooled:
        emit_pool(to, block)
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
    """Write the copy of the rows behind a band, padded with zeros. Whole vectors are stored in the
    order of their places: what they hold beyond a row is written again with zeros, those with the
    next row, and there is room beyond the last."""
    lanes, zero = block.lanes, "splat(float32(0.0))"
    with to.block(
        "def stage(x, image, scratch, channels, height, width, first, left, deep, pitch):"
    ):
        with to.block(f"for j in range(0, left, {lanes}):"):
            to.line(f"store(scratch, j, {zero})")
        with to.block("for c in range(channels):"), to.block("for r in range(deep):"):
            to.line(
                "i, t = first + r, (c * deep + r) * pitch + left",
                "s = image + (c * height + i) * width",
                "inside = max(0, min(width, pitch - left)) if i >= 0 and i < height else 0",
            )
            # Behind all images there is nothing to be read.
            with (
                to.block(f"if s + inside + {lanes} <= x.size:"),
                to.block(f"for j in range(0, inside, {lanes}):"),
            ):
                to.line("store(scratch, t + j, load(x, s + j))")
            with to.block("else:"), to.block(f"for j in range(0, inside, {lanes}):"):
                to.line("store(scratch, t + j, load_part(x, s + j, inside - j))")
            with to.block(f"for j in range(inside, pitch, {lanes}):"):
                to.line(f"store(scratch, t + j, {zero})")
    to.line("", "")


def _emit_blocks(to: Writer, block: MapBlock) -> None:
    """Write the loops over a band's blocks; the last ones are moved back to be whole.

    The next group's weights, or the next image, are in ``next`` from ``coming`` to ``limit``. Each
    block prefetches ``pace`` of them for every few channels, whole cache lines, until all are
    prefetched.
    """
    to.line(
        f"m, terms = g * {block.group}, channels * tall * wide",
        f"next, coming = weights, (g + 1) % groups * {block.group} * terms",
        f"limit = coming + {block.group} * terms",
    )
    with to.block("if g + 1 == groups and bands == 1:"):
        to.line("next, coming = x, image + channels * height * width")
        to.line("limit = coming + channels * height * width")
    (high, across), lanes = block.window, block.lanes
    if block.runs_on:
        to.line(
            f"span, deep = columns * {across}, (bottom - top) * {high}",
            f"size, count = deep * span, (deep * span + {block.columns - 1}) // {block.columns}",
        )
    else:
        to.line(
            f"count = (bottom - top + {block.rows - 1}) // {block.rows}"
            f" * ((columns + {block.columns - 1}) // {block.columns})"
        )
    to.line(
        f"turns = 16 * count * ((channels + {FEW - 1}) // {FEW})",
        "pace = (limit - coming + turns - 1) // turns * 16",
        f"sums = kept + {block.size * lanes if block.chunked else 0} * count",
    )
    with to.block("for start in range(0, channels, chunk):"):
        to.line("stop, totals = min(channels, start + chunk), kept")
        if block.runs_on:
            _emit_run(to, block)
        else:
            _emit_rectangles(to, block)
    if block.pooled:
        with (
            to.block("for i in range(top, bottom):"),
            to.block(f"for j in range(0, columns, {block.pooled}):"),
        ):
            to.line(
                f"column = min(j, columns - {block.pooled})",
                f"at = sums + ((i - top) * {high} * span + column * {across})"
                f" * {block.vectors * lanes}",
                "pool(scratch, at, span, maps - m, out, ((n * maps + m) * rows + i) * columns"
                " + column, rows * columns, columns, code)",
            )


def _emit_run(to: Writer, block: MapBlock) -> None:
    """Write the loop over blocks that run on over the ends of rows."""
    with to.block(f"for i in range(0, size, {block.columns}):"):
        to.line(
            f"begun = min(i, size - {block.columns})",
            f"at = base + begun // span * down * pitch + begun % span * {block.stride}",
        )
        if block.pooled:
            to.line(f"o = sums + begun * {block.vectors * block.lanes}")
        else:
            to.line("o = ((n * maps + m) * rows + top) * columns + begun")
        _emit_call(to, block, "begun % span", "size - begun", "span")


def _emit_rectangles(to: Writer, block: MapBlock) -> None:
    """Write the loops over a grid of blocks."""
    high, across = block.window
    with (
        to.block(f"for i in range(top, bottom, {block.rows}):"),
        to.block(f"for j in range(0, columns, {block.columns}):"),
    ):
        to.line(
            f"row, column = min(i, bottom - {block.rows}), min(j, columns - {block.columns})",
            f"at = base + (row - top) * {high} * down * pitch + column * {across * block.stride}",
            "o = ((n * maps + m) * rows + row) * columns + column",
        )
        _emit_call(to, block, "0", "0", "columns")


def _emit_call(to: Writer, block: MapBlock, column: str, ahead: str, columns: str) -> None:
    """Write the call of a block, whose inputs begin at ``at`` and results at ``o``."""
    source = "scratch" if block.staged else "x"
    to.line(
        f"block({source}, at, {column}, plane, pitch, channels, tall, wide, down, weights,"
        f" m * terms, next, coming, pace, limit, bias, m, maps - m, out, o, {ahead},"
        f" rows * columns, {columns}, code, scratch, start, stop, totals)",
        f"coming += pace * ((stop - start + {FEW - 1}) // {FEW})",
        f"totals += {block.size * block.lanes}",
    )
