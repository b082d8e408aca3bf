"""Generate the kernel of `blocked`: one text for every linear problem.

Sizes come at run time, so that a network's layers share one compilation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rooftile.devices.cpu.emit import Writer
from rooftile.strategies.common.panels import ROW, Lie, emit_fill

BLOCK_INPUTS = 256
"""At most so many inputs are summed in one go: those of a register block's images stay in the
first-level cache.  Longer sums round worse."""
_PITCH = BLOCK_INPUTS + 17
"""Distance between copied images: neighbours do not reach the end of a cache line together."""
_TILE = 16
"""Panels whose blocks of weights stay in the second-level cache for all images of a chunk."""
_FILLED = ROW * BLOCK_INPUTS
"""float32 of a tile of panels that is filled in scratch: all images meet them there."""
_SMALL_CHUNKS = 8
"""Chunks of images, where weights stay in cache."""
_AHEAD = 64
"""Weights that do not stay are brought near so many inputs before they are wanted."""


@dataclass(frozen=True)
class Shapes:
    """Register blocks: heights in images, and widths in panels; the most first."""

    name: str
    heights: tuple[int, ...]
    """The last one is for fewer images, too."""
    widths: tuple[int, ...]
    copied: bool
    """Whether images are copied, a fixed distance apart."""
    stays: Literal["images", "weights"]
    """What of a register block stays in the first-level cache from one block to the next."""

    @property
    def least_rows(self) -> list[tuple[int, int]]:
        """Each height, and the least number of images for it."""
        return [(h, h if h != self.heights[-1] else 1) for h in self.heights]


def shapes(registers: int) -> tuple[Shapes, Shapes]:
    """The blocks for few images, and those for many.

    With 32 registers an instruction broadcasts the input that it multiplies: 28 images share a
    vector of weights.  With 16, a broadcast takes a register and serves two vectors; their weights
    are 2.5 times as many as the inputs of the 6 images, so that they are what stays in cache.
    """
    if registers >= 32:
        few = Shapes("few", (4, 1), (4, 1), copied=False, stays="images")
        return few, Shapes("many", (28, 16, 8), (1,), copied=True, stays="images")
    few = Shapes("few", (2, 1), (4, 1), copied=False, stays="images")
    return few, Shapes("many", (6,), (2, 1), copied=True, stays="weights")


def chunk_images(registers: int, images: int, *, small: bool = False) -> int:
    """The copied inputs of so many images, register blocks of them, stay in the second-level cache.

    Each chunk reads all weights, and larger ones would leave cores without one.  With 32 registers
    there are as few chunks as there can be, and then those of the tallest blocks alone are best.
    With 16, where the weights are so ``small`` that they stay in cache, chunks are, too: whoever
    claims a share copies its chunk's images, once for many panels then.
    """
    if registers < 32:
        share = -(-images // (_SMALL_CHUNKS * 6)) * 6
        return min(max(share, 4 * 6), 24 * 6) if small else 24 * 6
    tallest, most = 4 * 28, 4 * 28 + 16
    return tallest if -(-images // tallest) == -(-images // most) else most


def scratch_size(images: int, lie: Lie | None = None) -> int:
    """float32 of the copied inputs of so many images, and of those that fill the last block; and
    before them of a tile of panels, where weights come as they lie."""
    return (images + 8) * _PITCH + (_FILLED if lie else 0)


def generate(lanes: int, registers: int, lie: Lie | None = None) -> str:
    """Source of a module with ``kernel(x, weights, bias, out, scratch, sizes, begin, end)``.

    ``sizes``: inputs, outputs, inputs of a block, images of a chunk, code of the activation.
    Weights are [blocks of inputs][panels][inputs of the block][vector of outputs]; or, with
    ``lie``, they come as they lie, and a tile of panels is filled before it is multiplied.
    """
    to = Writer()
    few, many = shapes(registers)
    kinds = (few, many) if lie is None else (many,)
    _emit_copy(to, lanes)
    if lie:
        emit_fill(to, lanes, lie)
    for kind in kinds:
        for width in kind.widths:
            for height in kind.heights:
                _emit_block(to, kind, height, width, lanes, lie)
        _emit_multiply(to, kind, lanes, lie)
    _emit_kernel(to, lanes, few.heights[0], lie)
    return to.text()


def _emit_block(
    to: Writer, kind: Shapes, height: int, width: int, lanes: int, lie: Lie | None
) -> None:
    """Write a register block: ``length`` inputs of ``rows`` images add to some panels of outputs.

    ``a``, ``w`` and ``o`` are offsets of the first input, weight and output; inputs of images lie
    ``pitch`` apart.  ``valid`` counts the last panel's outputs; ``code`` activates, and is 0
    before the last inputs.  Meanwhile the results' lines are brought near, and what the next tile
    is filled from: it lies in ``raw`` from ``ahead`` on, in rows so far ``apart``.
    """
    block = [(i, v) for i in range(height) for v in range(width)]
    to.line("@apart")
    with to.block(
        f"def {kind.name}{height}x{width}(x, a, pitch, rows, weights, w, length, bias, b, out, o,"
        " outputs, valid, first, code, raw, ahead, apart):"
    ):
        to.line(*(f"prefetch1(out, o + min({i}, rows - 1) * outputs)" for i in range(height)))
        to.line(*(f"s{i}_{v} = splat(float32(0.0))" for i, v in block))
        if not kind.copied:
            to.line(*(f"x{i} = x[a + min({i}, rows - 1) * pitch :]" for i in range(height)))
        with to.block("for k in range(length):"):
            if kind.copied:
                to.line("near = anchored(x[a + k :])")
            for v in range(width):
                at = f"w + {v * lanes} * length + k * {lanes}"
                to.line(f"w{v} = load(weights, {at})")
                if kind.stays == "images":
                    to.line(f"prefetch1(weights, {at} + {_AHEAD * lanes})")
            if lie == "columns":
                to.line(*(f"prefetch2(raw, ahead + k * apart + {v * lanes})" for v in range(width)))
            elif lie == "rows":
                to.line("prefetch2(raw, ahead + k // 16 * apart + k % 16 * 16)")
            if kind.stays == "weights":
                # The next images, which lie behind these; half a cache line for each input.
                to.line(f"prefetch1(x, a + {height * _PITCH} + 8 * k)")
            for i in range(height):
                at = f"near, {i * _PITCH}" if kind.copied else f"x{i}, k"
                to.line(f"u = splat_at({at})")
                to.line(*(f"s{i}_{v} = fma(u, w{v}, s{i}_{v})" for v in range(width)))
        _emit_end(to, height, width, lanes)
    to.line("", "")


def _emit_end(to: Writer, height: int, width: int, lanes: int) -> None:
    """Write how a block's sums join the bias or the sums before, activation and stores."""
    block = [(i, v) for i in range(height) for v in range(width)]
    # Only the last panel may be partial.
    parts = [("_part", ", valid") if v == width - 1 else ("", "") for v in range(width)]
    with to.block("if first:"):
        for v, (part, count) in enumerate(parts):
            to.line(f"before = load{part}(bias, b + {v * lanes}{count})")
            to.line(*(f"s{i}_{v} = add(before, s{i}_{v})" for i in range(height)))
    with to.block("else:"):
        for i, v in block:
            part, count = parts[v]
            place = f"o + min({i}, rows - 1) * outputs + {v * lanes}"
            to.line(f"s{i}_{v} = add(load{part}(out, {place}{count}), s{i}_{v})")
    with to.block("if code == 1:"):
        to.line(*(f"s{i}_{v} = relu(s{i}_{v})" for i, v in block))
    for i in range(height):
        with to.block(f"if {i} < rows:"):
            places = [f"out, o + {i} * outputs + {v * lanes}, s{i}_{v}" for v in range(width)]
            to.line(*(f"store({place})" for place in places[:-1]))
            # With AVX2 to store a part takes as long as a dozen multiplications.
            with to.block(f"if valid == {lanes}:"):
                to.line(f"store({places[-1]})")
            with to.block("else:"):
                to.line(f"store_part({places[-1]}, valid)")
    with to.block("if code > 1:"), to.block(f"for i in range(min(rows, {height})):"):
        to.line(f"activate_row(out, o + i * outputs, {(width - 1) * lanes} + valid, code)")


def _emit_copy(to: Writer, lanes: int) -> None:
    """Write the copy of inputs of the images ``i`` to ``stop - 1``; the last one fills a block."""
    with to.block("def copy(x, i, stop, inputs, k, length, scratch):"):
        to.line(f"whole = length // {lanes} * {lanes}")
        with to.block("for row in range(stop - i + 7):"):
            to.line(f"s, t = min(i + row, stop - 1) * inputs + k, row * {_PITCH}")
            with to.block(f"for j in range(0, whole, {lanes}):"):
                to.line("store(scratch, t + j, load(x, s + j))")
            with to.block("if whole < length:"):
                to.line("store(scratch, t + whole, load_part(x, s + whole, length - whole))")
    to.line("", "")


def _emit_multiply(to: Writer, kind: Shapes, lanes: int, lie: Lie | None) -> None:
    """Write how a chunk of images is multiplied with the panels ``p`` to ``last - 1``.

    Either the inputs of a register block stay in the first-level cache for a tile of panels, whose
    weights stay in the second for all images; or a register block's weights stay in the first for
    all images, whose inputs are in the second.
    """
    tile = ROW // lanes if lie else _TILE
    with (
        to.block(
            f"def multiply_{kind.name}(x, i, stop, inputs, weights, bias, out, outputs, panels,"
            " scratch, step, code, p, last):"
        ),
        to.block("for k in range(0, inputs, step):"),
    ):
        to.line("length = min(step, inputs - k)", "finish = code if k + length == inputs else 0")
        if lie:
            to.line(f"images = scratch[{_FILLED}:]")
        elif kind.copied:
            to.line("images = scratch[0:]")
        if kind.copied:
            to.line("copy(x, i, stop, inputs, k, length, images)")
        with to.block(f"for tile in range(p, last, {tile}):"):
            to.line(f"end = min(last, tile + {tile})")
            if lie:
                to.line("more, further = end, k")
                with to.block("if end == last:"):
                    to.line("more, further = p, k + step")
                to.line(
                    f"fill(weights, inputs, outputs, tile * {lanes}, min(outputs, end * {lanes}),"
                    " k, k + length, scratch, 0)"
                )
            if kind.stays == "weights":
                _emit_panels_first(to, kind, lanes, lie)
            else:
                _emit_rows_first(to, kind, lanes, lie)
    to.line("", "")


def _emit_rows_first(to: Writer, kind: Shapes, lanes: int, lie: Lie | None) -> None:
    """Write the loops over panels inside those over images."""
    to.line("row = i")
    for height, least in kind.least_rows:
        with to.block(f"while stop - row >= {least}:"):
            to.line("panel = tile")
            for width in kind.widths:
                with to.block(f"while end - panel >= {width}:"):
                    _emit_call(to, kind, height, width, lanes, lie)
                    to.line(f"panel += {width}")
            to.line(f"row += {height}")


def _emit_panels_first(to: Writer, kind: Shapes, lanes: int, lie: Lie | None) -> None:
    """Write the loops over images inside those over panels."""
    to.line("panel = tile")
    for width in kind.widths:
        with to.block(f"while end - panel >= {width}:"):
            to.line("row = i")
            for height, least in kind.least_rows:
                with to.block(f"while stop - row >= {least}:"):
                    _emit_call(to, kind, height, width, lanes, lie)
                    to.line(f"row += {height}")
            to.line(f"panel += {width}")


def _emit_call(
    to: Writer, kind: Shapes, height: int, width: int, lanes: int, lie: Lie | None
) -> None:
    """Write the call of a register block at ``row`` and ``panel``."""
    given = (
        f"images, (row - i) * {_PITCH}, {_PITCH}" if kind.copied else "x, row * inputs + k, inputs"
    )
    weights = "scratch" if lie else "weights"
    ahead = {
        None: "weights, 0, 0",
        "rows": f"weights, (more + panel - tile) * {lanes} * inputs + further, inputs",
        "columns": f"weights, further * outputs + (more + panel - tile) * {lanes}, outputs",
    }
    before = "(panel - tile) * length" if lie else "(k * panels + panel * length)"
    to.line(
        f"w, b = {lanes} * {before}, panel * {lanes}",
        f"valid = min({lanes}, outputs - b - {(width - 1) * lanes})",
        f"{kind.name}{height}x{width}({given}, stop - row,"
        f" {weights}, w, length, bias, b, out, row * outputs + b, outputs,"
        f" valid, k == 0, finish, {ahead[lie]})",
    )


def _emit_kernel(to: Writer, lanes: int, few: int, lie: Lie | None) -> None:
    """Write the loop over chunks of images, which have a unit for each panel."""
    with to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"):
        to.line(
            "inputs, outputs, step, chunk, code = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]",
            f"images, panels = x.size // inputs, (outputs + {lanes - 1}) // {lanes}",
            "unit = begin",
        )
        with to.block("while unit < end:"):
            to.line(
                "i, p = unit // panels * chunk, unit % panels",
                "stop, last = min(images, i + chunk), min(panels, p + end - unit)",
                "unit += last - p",
            )
            given = (
                "x, i, stop, inputs, weights, bias, out, outputs, panels, scratch, step, code, p,"
                " last"
            )
            if lie:
                to.line(f"multiply_many({given})")
                return
            for name, head in (("few", f"if stop - i <= {few}:"), ("many", "else:")):
                with to.block(head):
                    to.line(f"multiply_{name}({given})")
