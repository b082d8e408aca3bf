"""Generate the kernel of `blocked`: one text for every linear problem.

Sizes come at run time, so that a network's layers share one compilation.
"""

from __future__ import annotations

from rooftile.devices.cpu.emit import Writer

VECTORS = 2
"""Vectors of outputs in a panel."""


def generate(lanes: int, registers: int) -> str:
    """Source of a module with ``kernel(x, weights, bias, out, scratch, sizes, begin, end)``.

    ``sizes``: inputs, outputs, inputs of a block, images of a chunk, code of the activation.
    """
    to = Writer()
    heights = _heights(registers)
    _emit_place(to, lanes)
    for vectors in range(1, VECTORS + 1):
        for images in heights:
            _emit_block(to, images, vectors, lanes, ahead=images == heights[0])
        _emit_panel(to, heights, vectors, lanes)
    _emit_kernel(to, lanes, few=heights[0])
    return to.text()


def _heights(registers: int) -> tuple[int, ...]:
    """Images of a register block: the most, then fewer by halves for the rest of a chunk.

    Eight images have enough sums to hide the latency of a fused multiply-add twice over.  With
    sixteen registers only six leave room for the vectors of weights and the broadcast input.
    """
    return (8, 4, 2, 1) if registers >= 32 else (6, 4, 2, 1)


def _emit_place(to: Writer, lanes: int) -> None:
    """Write where in the packed weights input ``k`` of a panel lies; all panels before are full."""
    width = VECTORS * lanes
    with to.block("def place(panel, k, inputs, outputs):"):
        to.line(
            f"vectors = (min({width}, outputs - panel * {width}) + {lanes - 1}) // {lanes}",
            f"return panel * {width} * inputs + k * vectors * {lanes}",
        )
    to.line("", "")


def _emit_block(to: Writer, images: int, vectors: int, lanes: int, ahead: bool) -> None:
    """Write the register block: ``length`` inputs of some images add to a panel of outputs.

    ``a``, ``w`` and ``o`` are offsets of the first input, weight and output; ``valid`` counts
    the panel's outputs in its last vector; ``code`` activates, and is 0 before the last block.
    With ``ahead``, ``pace`` weights from ``coming`` on are fetched with each input.
    """
    block = [(i, v) for i in range(images) for v in range(vectors)]
    with to.block(
        f"def block{images}x{vectors}(x, a, inputs, weights, w, length, bias, b,"
        " out, o, outputs, valid, first, code, coming, pace):"
    ):
        to.line(*(f"s{i}_{v} = splat(float32(0.0))" for i, v in block))
        with to.block("for k in range(length):"):
            if ahead:
                to.line("prefetch2(weights, coming + k * pace)")
            for v in range(vectors):
                to.line(f"w{v} = load(weights, w + k * {vectors * lanes} + {v * lanes})")
            for i in range(images):
                to.line(f"u = splat_at(x, a + {i} * inputs + k)")
                to.line(*(f"s{i}_{v} = fma(u, w{v}, s{i}_{v})" for v in range(vectors)))
        for i, v in block:
            # Only a panel's last vector may be partial.
            part, count = ("_part", ", valid") if v == vectors - 1 else ("", "")
            at = f"o + {i} * outputs + {v * lanes}"
            with to.block("if first:"):
                to.line(f"before = load{part}(bias, b + {v * lanes}{count})")
            with to.block("else:"):
                to.line(f"before = load{part}(out, {at}{count})")
            to.line(f"y = add(before, s{i}_{v})")
            with to.block("if code == 1:"):
                to.line("y = relu(y)")
            to.line(f"store{part}(out, {at}, y{count})")
        with to.block("if code > 1:"), to.block(f"for i in range({images}):"):
            to.line(f"activate_row(out, o + i * outputs, {(vectors - 1) * lanes} + valid, code)")
    to.line("", "")


def _emit_panel(to: Writer, heights: tuple[int, ...], vectors: int, lanes: int) -> None:
    """Write how a block of inputs of the images ``i`` to ``stop - 1`` adds to one panel.

    The weights from ``coming`` on are the next that will be wanted.  Each register block has a
    share of them brought near: left to itself, the processor would wait for them.
    """
    with to.block(
        f"def panel{vectors}(x, i, stop, k, inputs, weights, w, length, bias, b,"
        " out, outputs, valid, first, code, coming):"
    ):
        to.line(f"pace = ({heights[0] * vectors * lanes - 1} + stop - i) // (stop - i)")
        for images in heights:
            with to.block(f"while stop - i >= {images}:"):
                to.line(
                    f"block{images}x{vectors}(x, i * inputs + k, inputs, weights, w, length, bias,"
                    " b, out, i * outputs + b, outputs, valid, first, code, coming, pace)",
                    f"i += {images}",
                    "coming += pace * length",
                )
    to.line("", "")


def _emit_kernel(to: Writer, lanes: int, few: int) -> None:
    """Write the loops around the panels; chunks are equal, so that cores have equal shares."""
    width = VECTORS * lanes
    with to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"):
        to.line(
            "inputs, outputs, step, chunk, code = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]",
            "images = x.size // inputs",
            "chunks = (images + chunk - 1) // chunk",
            f"panels = (outputs + {width - 1}) // {width}",
            "unit = begin",
        )
        with to.block("while unit < end:"):
            to.line(
                "c, p = unit // panels, unit % panels",
                "last = min(panels, p + end - unit)",
                "i, stop = images * c // chunks, images * (c + 1) // chunks",
                "unit += last - p",
            )
            # Few images go panel by panel, so that the weights stream past in one run.  Of many,
            # the block of inputs stays in cache for all panels.
            to.line(f"group = 1 if stop - i < {few} else last - p")
            with (
                to.block("for q in range(p, last, group):"),
                to.block("for k in range(0, inputs, step):"),
            ):
                to.line(
                    "length = min(step, inputs - k)",
                    "finish = code if k + length == inputs else 0",
                )
                with to.block("for panel in range(q, min(q + group, last)):"):
                    to.line(
                        f"b = panel * {width}",
                        f"count = min({width}, outputs - b)",
                        "w = place(panel, k, inputs, outputs)",
                        "coming = place(q, min(k + step, inputs - 1), inputs, outputs)",
                    )
                    with to.block("if panel + 1 < min(q + group, last):"):
                        to.line("coming = place(panel + 1, k, inputs, outputs)")
                    for vectors in range(1, VECTORS + 1):
                        with to.block(
                            f"{'if' if vectors == 1 else 'elif'} count <= {vectors * lanes}:"
                        ):
                            to.line(
                                f"panel{vectors}(x, i, stop, k, inputs, weights, w, length, bias,"
                                f" b, out, outputs, count - {(vectors - 1) * lanes}, k == 0,"
                                " finish, coming)"
                            )
