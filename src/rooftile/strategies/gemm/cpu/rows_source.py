"""Generate the kernel of `blocked` for few images, which reads the weights where they lie.

To put weights into panels takes longer than to multiply a few images with them.  Here squares of
weights[outputs, inputs] are transposed in registers on their way to the sums, which are made in
the order of `rooftile.strategies.gemm.cpu.blocked_source`: the results have the same bits.
"""

from __future__ import annotations

from rooftile.devices.cpu.emit import Writer
from rooftile.strategies.common.transposition import emit_columns

IMAGES = (4, 2, 1)
"""Images that share a transposed square; the most that the kernel is for comes first."""


def generate(lanes: int) -> str:
    """Source of a module with ``kernel(x, weights, bias, out, scratch, sizes, begin, end)``.

    ``sizes``: inputs, outputs, inputs of a block, code of the activation.  A unit is a vector of
    outputs; scratch holds one.
    """
    to = Writer()
    for images in IMAGES:
        _emit_rows(to, images, lanes)
    with to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"):
        to.line(
            "inputs, outputs, step, code = sizes[0], sizes[1], sizes[2], sizes[3]",
            "images = x.size // inputs",
        )
        with to.block("for unit in range(begin, end):"):
            to.line(f"first = unit * {lanes}", f"count = min({lanes}, outputs - first)", "i = 0")
            for images in IMAGES:
                with to.block(f"while images - i >= {images}:"):
                    to.line(
                        f"rows{images}(x, i, inputs, weights, first, count, bias, out, outputs,"
                        " scratch, step, code)",
                        f"i += {images}",
                    )
    return to.text()


def _emit_rows(to: Writer, images: int, lanes: int) -> None:
    """Write the sums of a vector of outputs, of which ``count`` exist, for some images."""
    to.line("@apart")
    with to.block(
        f"def rows{images}(x, i, inputs, weights, first, count, bias, out, outputs, scratch, step,"
        " code):"
    ):
        with to.block("for k in range(0, inputs, step):"):
            to.line("length = min(step, inputs - k)")
            to.line(f"whole = length // {lanes} * {lanes} if count == {lanes} else 0")
            to.line(*(f"s{m} = splat(float32(0.0))" for m in range(images)))
            with to.block(f"for j in range(k, k + whole, {lanes}):"):
                columns = emit_columns(to, lanes, lambda o: f"weights, (first + {o}) * inputs + j")
                for e, column in enumerate(columns):
                    _emit_products(to, images, f"j + {e}", column)
            with to.block("for j in range(k + whole, k + length):"):
                with to.block(f"for o in range({lanes}):"):
                    weight = "weights[(first + o) * inputs + j]"
                    to.line(f"scratch[o] = {weight} if o < count else float32(0.0)")
                to.line("column = load(scratch, 0)")
                _emit_products(to, images, "j", "column")
            _emit_end(to, images)
        with to.block("if code > 1:"), to.block(f"for m in range({images}):"):
            to.line("activate_row(out, (i + m) * outputs + first, count, code)")
    to.line("", "")


def _emit_products(to: Writer, images: int, j: str, column: str) -> None:
    """Write the products of one input of each image with a column of weights."""
    for m in range(images):
        to.line(f"s{m} = fma(splat_at(x, (i + {m}) * inputs + {j}), {column}, s{m})")


def _emit_end(to: Writer, images: int) -> None:
    """Write how a block's sums join those before, and the activation of the last ones."""
    for m in range(images):
        to.line(f"o = (i + {m}) * outputs + first")
        with to.block("if k == 0:"):
            to.line("before = load_part(bias, first, count)")
        with to.block("else:"):
            to.line("before = load_part(out, o, count)")
        to.line(f"y = add(before, s{m})")
        with to.block("if code == 1 and k + length == inputs:"):
            to.line("y = relu(y)")
        to.line("store_part(out, o, y, count)")
