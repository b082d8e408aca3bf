"""Generate the kernel of `blocked`: one text for every linear problem.

Sizes come at run time, so that a network's layers share one compilation.
"""

from __future__ import annotations

from rooftile.devices.cpu.emit import Writer
from rooftile.strategies.common.panels import ROW, Lie, emit_fill
from rooftile.strategies.common.weaving import STEPS, emit_weaving
from rooftile.strategies.gemm.cpu.block_source import emit_block
from rooftile.strategies.gemm.cpu.shapes import ENDS, FILLED, PITCH, Shapes, shapes

_TILE = 16
"""Panels whose blocks of weights stay in the second-level cache for all images of a chunk."""


def generate(lanes: int, registers: int, lie: Lie | None = None, *, narrow: bool = False) -> str:
    """Source of a module with ``kernel(x, weights, bias, out, scratch, sizes, begin, end)``.

    ``sizes``: inputs, outputs, inputs of a block, images of a chunk, code of the activation.
    Weights are [blocks of inputs][panels][inputs of the block][vector of outputs]; or, with
    ``lie``, they come as they lie, and a tile of panels is filled before it is multiplied.
    """
    to = Writer()
    few, many = shapes(registers, narrow=narrow)
    kinds = (few, many) if lie is None else (many,)
    if many.images == "woven":
        emit_weaving(to, lanes, many.heights[0])
    elif many.images == "apart":
        _emit_copy(to, lanes)
    if lie:
        emit_fill(to, lanes, lie)
    for kind in kinds:
        for width in kind.widths:
            for height in kind.heights:
                emit_block(to, kind, height, width, lanes, lie)
        _emit_multiply(to, kind, lanes, lie)
    _emit_kernel(to, lanes, few.heights[0], many.widths[0], lie)
    return to.text()


def _emit_copy(to: Writer, lanes: int) -> None:
    """Write the copy of inputs of the images ``i`` to ``stop - 1``; the last one fills a block."""
    with to.block("def copy(x, i, stop, inputs, k, length, scratch):"):
        to.line(f"whole = length // {lanes} * {lanes}")
        with to.block("for row in range(stop - i + 7):"):
            to.line(f"s, t = min(i + row, stop - 1) * inputs + k, row * {PITCH}")
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
            to.line(f"filled = scratch[{ENDS}:]")
        if kind.images != "given":
            to.line(
                f"images = scratch[{ENDS + (FILLED if lie else 0)}:]",
                "copy(x, i, stop, inputs, k, length, images)",
            )
        with to.block(f"for tile in range(p, last, {tile}):"):
            to.line(f"end = min(last, tile + {tile})")
            if lie:
                to.line("more, further = end, k")
                with to.block("if end == last:"):
                    to.line("more, further = p, k + step")
                to.line(
                    f"fill(weights, inputs, outputs, tile * {lanes}, min(outputs, end * {lanes}),"
                    " k, k + length, filled, 0)"
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
    given = {
        "given": "x, row * inputs + k, inputs",
        "apart": f"images, (row - i) * {PITCH}, {PITCH}",
        "woven": "images, (row - i) * length, 1",
    }
    before = "(panel - tile) * length" if lie else "(k * panels + panel * length)"
    to.line(
        f"w, b = {lanes} * {before}, panel * {lanes}",
        f"valid = min({lanes}, outputs - b - {(width - 1) * lanes})",
        f"{kind.name}{height}x{width}({given[kind.images]}, stop - row,"
        f" {'filled' if lie else 'weights'}, w, length, bias, b, out, row * outputs + b, outputs,"
        f" valid, k == 0, finish, scratch, weights,"
        f" {_ahead(kind, height, width, lanes, lie)})",
    )


def _ahead(kind: Shapes, height: int, width: int, lanes: int, lie: Lie | None) -> str:
    """The first of the weights that a register block prefetches, and the distance of rows. Blocks
    with one stream of inputs prefetch a line for some inputs, so that the first ones of a panel
    share the work: the next panels, or a tile's."""
    turn = f"(row - i) // {height}"
    if lie is None:
        behind = f"w + {width * lanes} * length + {turn} * length * {16 // STEPS}"
        return f"{behind}, 0" if kind.images == "woven" else "0, 0"
    first = f"(more + panel - tile) * {lanes}"
    if kind.images != "woven":
        if lie == "rows":
            return f"{first} * inputs + further, inputs"
        return f"further * outputs + {first}, outputs"
    turn = f"min({turn}, {STEPS - 1}) * (length // {STEPS})"
    if lie == "rows":
        return f"({first} + {turn} // 16) * inputs + further, inputs"
    return f"(further + {turn}) * outputs + {first}, outputs"


def _emit_kernel(to: Writer, lanes: int, few: int, together: int, lie: Lie | None) -> None:
    """Write the loop over chunks of images, which have a unit for ``together`` panels."""
    with to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"):
        to.line(
            "inputs, outputs, step, chunk, code = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]",
            f"images, panels = x.size // inputs, (outputs + {lanes - 1}) // {lanes}",
            f"unit, parts = begin, (panels + {together - 1}) // {together}",
        )
        with to.block("while unit < end:"):
            to.line(
                "i, part = unit // parts * chunk, unit % parts",
                "stop, until = min(images, i + chunk), min(parts, part + end - unit)",
                "unit += until - part",
                f"p, last = {together} * part, min(panels, {together} * until)",
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
