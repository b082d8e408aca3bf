"""Generate the register block of `blocked`: some images x some panels of outputs."""

from __future__ import annotations

from rooftile.devices.cpu.emit import Writer
from rooftile.strategies.common.panels import Lie
from rooftile.strategies.common.weaving import emit_woven
from rooftile.strategies.gemm.cpu.shapes import PITCH, Shapes

_AHEAD = 64
"""Prefetch distance, in inputs, of weights that do not stay in cache."""


def emit_block(
    to: Writer, kind: Shapes, height: int, width: int, lanes: int, lie: Lie | None
) -> None:
    """Write a register block: ``length`` inputs of ``rows`` images add to some panels of outputs.

    ``a``, ``w`` and ``o`` are offsets of the first input, weight and output; inputs of images are
    ``pitch`` apart. ``valid`` counts the last panel's outputs; ``code`` activates, and is 0 before
    the last inputs. Meanwhile the results' lines are prefetched, and the next weights: from
    ``ahead`` on in ``raw``, in rows ``apart`` from each other.
    """
    sums = [f"s{i}_{v}" for i in range(height) for v in range(width)]
    to.line("@apart")
    with to.block(
        f"def {kind.name}{height}x{width}(x, a, pitch, rows, weights, w, length, bias, b, out, o,"
        " outputs, valid, first, code, scratch, raw, ahead, apart):"
    ):
        to.line(*(f"prefetch1(out, o + min({i}, rows - 1) * outputs)" for i in range(height)))
        to.line(*(f"{s} = splat(float32(0.0))" for s in sums))
        if kind.images == "woven":
            emit_woven(to, height, width, lanes, lie)
        else:
            _emit_rows(to, kind, height, width, lanes, lie)
        _emit_end(to, height, width, lanes)
    to.line("", "")


def _emit_rows(
    to: Writer, kind: Shapes, height: int, width: int, lanes: int, lie: Lie | None
) -> None:
    """Write the products with inputs that lie in rows, an image each."""
    copied = kind.images == "apart"
    if not copied:
        to.line(*(f"x{i} = x[a + min({i}, rows - 1) * pitch :]" for i in range(height)))
    with to.block("for k in range(length):"):
        if copied:
            to.line("near = anchored(x[a + k :])")
        for v in range(width):
            at = f"w + {v * lanes} * length + k * {lanes}"
            to.line(f"w{v} = load(weights, {at})", f"prefetch1(weights, {at} + {_AHEAD * lanes})")
        if lie == "columns":
            to.line(*(f"prefetch2(raw, ahead + k * apart + {v * lanes})" for v in range(width)))
        elif lie == "rows":
            to.line("prefetch2(raw, ahead + k // 16 * apart + k % 16 * 16)")
        for i in range(height):
            to.line(f"u = splat_at({f'near, {i * PITCH}' if copied else f'x{i}, k'})")
            to.line(*(f"s{i}_{v} = fma(u, w{v}, s{i}_{v})" for v in range(width)))


def _emit_end(to: Writer, height: int, width: int, lanes: int) -> None:
    """Write how a block's sums join the bias or the sums before, activation and stores. Sums of a
    block that is not whole go through scratch, row by row."""
    block = [(i, v) for i in range(height) for v in range(width)]
    # The compiler takes it for an array of its own, where it may lie in the results.
    to.line("before, further = anchored(out[o:]), outputs")
    with to.block("if first:"):
        to.line("before, further = bias[b:], 0")
    with to.block(f"if valid == {lanes} and rows >= {height}:"):
        for i, v in block:
            to.line(f"s{i}_{v} = add(load(before, {i} * further + {v * lanes}), s{i}_{v})")
        with to.block("if code == 1:"):
            to.line(*(f"s{i}_{v} = relu(s{i}_{v})" for i, v in block))
        for i, v in block:
            to.line(f"store(out, o + {i} * outputs + {v * lanes}, s{i}_{v})")
    with to.block("else:"):
        to.line(*(f"store(scratch, {(i * width + v) * lanes}, s{i}_{v})" for i, v in block))
        with to.block(f"for i in range(min(rows, {height})):"):
            for v in range(width):
                _emit_part(to, v, width, lanes)
    with to.block("if code > 1:"), to.block(f"for i in range(min(rows, {height})):"):
        to.line(f"activate_row(out, o + i * outputs, {(width - 1) * lanes} + valid, code)")


def _emit_part(to: Writer, v: int, width: int, lanes: int) -> None:
    """Write the end of vector ``v`` of row ``i`` of a block; only the last panel may be partial."""
    place = f"o + i * outputs + {v * lanes}"
    part, count = ("_part", ", valid") if v == width - 1 else ("", "")
    to.line(
        f"y = load{part}(before, i * further + {v * lanes}{count})",
        f"y = add(y, load(scratch, i * {width * lanes} + {v * lanes}))",
    )
    with to.block("if code == 1:"):
        to.line("y = relu(y)")
    if not part:
        to.line(f"store(out, {place}, y)")
        return
    # With AVX2 to store a part takes as long as a dozen multiplications.
    with to.block(f"if valid == {lanes}:"):
        to.line(f"store(out, {place}, y)")
    with to.block("else:"):
        to.line(f"store_part(out, {place}, y, valid)")
