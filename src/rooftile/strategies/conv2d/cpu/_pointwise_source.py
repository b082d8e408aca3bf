"""Generate the kernel of `pointwise`: one text for all problems, whose sizes come at run time."""

from __future__ import annotations

from rooftile.devices.cpu.emit import Writer
from rooftile.strategies.common.panels import ROW, emit_fill
from rooftile.strategies.common.weaving import STEPS, emit_weaving, emit_woven

HEIGHT = 6
"""Maps of a register block, of two panels of pixels: it fills 16 registers."""
STEP = 256
"""Largest number of channels that are summed in one go; longer sums round worse."""
_ENDS = HEIGHT * 2 * 16


def scratch_size() -> int:
    """float32 of a register block's sums, and of a tile of panels."""
    return _ENDS + ROW * STEP


def generate(lanes: int) -> str:
    """Source of a module with ``kernel(x, weights, bias, out, scratch, sizes, begin, end)``.

    ``sizes``: channels, pixels of an image, maps, channels of a block, maps of a part, code of the
    activation.  A unit is a tile of pixels for a part of the maps.  Weights are [blocks of
    channels][blocks of maps][channels of the block][maps of the block].
    """
    to = Writer()
    emit_fill(to, lanes, "columns")
    for width in (2, 1):
        _emit_block(to, width, lanes)
    _emit_tile(to, lanes)
    with (
        to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"),
        to.block("for unit in range(begin, end):"),
    ):
        to.line(
            "channels, pixels, maps, step = sizes[0], sizes[1], sizes[2], sizes[3]",
            "part, code = sizes[4], sizes[5]",
            f"parts, tiles = (maps + part - 1) // part, (pixels + {ROW - 1}) // {ROW}",
            "n, m = unit // parts // tiles, unit % parts * part",
            f"first = unit // parts % tiles * {ROW}",
            f"tile(x[n * channels * pixels :], first, min(pixels, first + {ROW}), weights, bias,"
            " out[n * maps * pixels :], m, min(maps, m + part), scratch, channels, pixels, maps,"
            " step, code)",
        )
    return to.text()


def weaving(lanes: int) -> str:
    """Source of what packs weights[maps, channels]; a unit is a block of maps.

    ``sizes``: channels, maps, channels of a block.
    """
    to = Writer()
    emit_weaving(to, lanes, HEIGHT, apart=True)
    with (
        to.block("def kernel(weights, packed, sizes, begin, end):"),
        to.block("for unit in range(begin, end):"),
    ):
        to.line(
            "channels, maps, step = sizes[0], sizes[1], sizes[2]",
            f"m, blocks = unit * {HEIGHT}, (maps + {HEIGHT - 1}) // {HEIGHT}",
        )
        with to.block("for k in range(0, channels, step):"):
            to.line(
                "length = min(step, channels - k)",
                f"at = {HEIGHT} * (k * blocks + unit * length)",
                f"copy(weights, m, min(maps, m + {HEIGHT}), channels, k, length, packed[at:])",
            )
    return to.text()


def _emit_tile(to: Writer, lanes: int) -> None:
    """Write the results of some maps, in a tile of pixels. Block by block of channels, panels are
    filled from the image, and stay in the second-level cache for all maps; the weights of a block
    of maps stay in the first for all panels."""
    with (
        to.block(
            "def tile(x, first, stop, weights, bias, out, m, last, scratch, channels, pixels, maps,"
            " step, code):"
        ),
        to.block("for k in range(0, channels, step):"),
    ):
        to.line(
            f"filled, blocks = scratch[{_ENDS}:], (maps + {HEIGHT - 1}) // {HEIGHT}",
            "length = min(step, channels - k)",
            "finish = code if k + length == channels else 0",
            "fill(x, channels, pixels, first, stop, k, k + length, filled, 0)",
            # What is filled next: other channels of the tile, or the next one's first.
            f"more, further = first + {ROW}, 0",
        )
        with to.block("if k + length < channels:"):
            to.line("more, further = first, k + length")
        with to.block(f"for row in range(m, last, {HEIGHT}):"):
            to.line(
                f"turn = min((row - m) // {HEIGHT}, {STEPS - 1}) * (length // {STEPS})",
                "pixel = first",
            )
            for width in (2, 1):
                with to.block(f"while stop - pixel > {(width - 1) * lanes}:"):
                    to.line(
                        f"valid = min({lanes}, stop - pixel - {(width - 1) * lanes})",
                        f"block{width}(weights, {HEIGHT} * k * blocks + row * length, last - row,"
                        " filled, (pixel - first) * length, length, bias, row, out,"
                        " row * pixels + pixel, pixels, valid, k == 0, finish, scratch, x,"
                        " (further + turn) * pixels + more + pixel - first, pixels)",
                        f"pixel += {width * lanes}",
                    )
    to.line("", "")


def _emit_block(to: Writer, width: int, lanes: int) -> None:
    """Write a register block: ``rows`` maps of some panels, of whose last ``valid`` pixels exist.
    Sums begin with the bias, or join the sums before, which are in the results. Meanwhile the next
    panel's inputs are prefetched: from ``ahead`` on in ``raw``, in rows ``apart`` from each other.
    """
    block = [(i, v) for i in range(HEIGHT) for v in range(width)]
    to.line("@apart")
    with to.block(
        f"def block{width}(x, a, rows, weights, w, length, bias, b, out, o, pixels, valid, first,"
        " code, scratch, raw, ahead, apart):"
    ):
        to.line(*(f"prefetch1(out, o + min({i}, rows - 1) * pixels)" for i in range(HEIGHT)))
        to.line(*(f"s{i}_{v} = splat(float32(0.0))" for i, v in block))
        with to.block("if first:"):
            for i in range(HEIGHT):
                to.line(f"before = splat_at(bias, b + min({i}, rows - 1))")
                to.line(*(f"s{i}_{v} = before" for v in range(width)))
        emit_woven(to, HEIGHT, width, lanes, "columns")
        with to.block(f"if valid == {lanes} and rows >= {HEIGHT}:"):
            places = {(i, v): f"out, o + {i} * pixels + {v * lanes}" for i, v in block}
            with to.block("if not first:"):
                to.line(*(f"s{i}_{v} = add(load({places[i, v]}), s{i}_{v})" for i, v in block))
            with to.block("if code == 1:"):
                to.line(*(f"s{i}_{v} = relu(s{i}_{v})" for i, v in block))
            to.line(*(f"store({places[i, v]}, s{i}_{v})" for i, v in block))
        with to.block("else:"):
            to.line(*(f"store(scratch, {(i * width + v) * lanes}, s{i}_{v})" for i, v in block))
            with to.block(f"for i in range(min(rows, {HEIGHT})):"):
                for v in range(width):
                    _emit_part(to, v, width, lanes)
        with to.block("if code > 1:"), to.block(f"for i in range(min(rows, {HEIGHT})):"):
            to.line(f"activate_row(out, o + i * pixels, {(width - 1) * lanes} + valid, code)")
    to.line("", "")


def _emit_part(to: Writer, v: int, width: int, lanes: int) -> None:
    """Write the end of vector ``v`` of map ``i`` of a block that is not whole."""
    count = "valid" if v == width - 1 else str(lanes)
    to.line(
        f"place, y = o + i * pixels + {v * lanes}, load(scratch, (i * {width} + {v}) * {lanes})"
    )
    with to.block("if not first:"):
        to.line(f"y = add(load_part(out, place, {count}), y)")
    with to.block("if code == 1:"):
        to.line("y = relu(y)")
    with to.block(f"if {count} == {lanes}:"):
        to.line("store(out, place, y)")
    with to.block("else:"):
        to.line(f"store_part(out, place, y, {count})")
