"""Put weights into panels for the CPU's vectors, on all cores.

A panel is [inputs][vector of outputs], for a block of inputs; outputs that do not exist weigh zero.
A block's panels follow each other, then the next block's. A unit of work is some panels of all
blocks.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import last_kernels, source
from rooftile.ops import Float32
from rooftile.strategies.common.transposition import emit_columns
from rooftile.strategies.contract.cpu_kernel import KernelPacking

ROW = 64
"""Adjacent outputs that are read together: some cache lines, none of which is read again after
eviction."""

Lie = Literal["rows", "columns"]
"""The order of weights: [outputs, inputs] or [inputs, outputs]."""


def panels_of(outputs: int, lanes: int) -> int:
    """Number of panels of ``outputs`` outputs."""
    return -(-outputs // lanes)


def packed_size(outputs: int, inputs: int, lanes: int) -> int:
    """float32 of all panels."""
    return panels_of(outputs, lanes) * lanes * inputs


def pack(weights: Float32, packed: Float32, step: int, lanes: int, threads: int) -> None:
    """Fill the panels from weights[outputs, inputs], which lie in either order.

    ``step`` inputs are a block.
    """
    outputs, inputs = weights.shape
    by_columns = weights.flags.f_contiguous and not weights.flags.c_contiguous
    given = weights.T if by_columns else np.ascontiguousarray(weights)
    packing = packing_of(outputs, inputs, step, lanes, "columns" if by_columns else "rows")
    packing.fill(given, packed, threads)


def packing_of(
    outputs: int, inputs: int, step: int, lanes: int, lie: Lie = "rows"
) -> KernelPacking:
    """The kernel that does the same as `pack` with weights in this order."""
    units = panels_of(outputs, ROW if lie == "columns" else lanes)
    return KernelPacking(_spread(lanes, lie), units, cpu.sizes_of(inputs, outputs, step))


def emit_fill(to: Writer, lanes: int, lie: Lie) -> None:
    """Write ``fill(weights, inputs, outputs, first, stop, begin, last, packed, start)``: inputs
    ``begin`` to ``last - 1`` of some outputs into panels one after the other, from ``start`` on.

    ``first`` begins a panel, and at most `ROW` outputs are filled.
    """
    with to.block("def fill(weights, inputs, outputs, first, stop, begin, last, packed, start):"):
        if lie == "columns":
            _emit_columns(to, lanes)
        else:
            _emit_rows(to, lanes)
    to.line("", "")


def _emit_columns(to: Writer, lanes: int) -> None:
    """Write the panels of weights that lie as [inputs, outputs]: their rows are pieces of those."""
    pieces = range(0, ROW, lanes)
    to.line(
        f"count, size, at = stop - first, {lanes} * (last - begin), start",
        f"whole = count // {lanes} * {lanes}",
    )
    with to.block("for k in range(begin, last):"):
        to.line("row = k * outputs + first")
        with to.block(f"if count == {ROW}:"):
            to.line(*(f"p{o} = load(weights, row + {o})" for o in pieces))
            to.line(*(f"store(packed, at + {o // lanes} * size, p{o})" for o in pieces))
        with to.block("else:"):
            with to.block(f"for o in range(0, whole, {lanes}):"):
                to.line(f"store(packed, at + o // {lanes} * size, load(weights, row + o))")
            # The same mask for all rows; to make one takes longer than to move a piece.
            with to.block("if whole < count:"):
                to.line(
                    "piece = load_part(weights, row + whole, count - whole)",
                    f"store(packed, at + whole // {lanes} * size, piece)",
                )
        to.line(f"at += {lanes}")


def _emit_rows(to: Writer, lanes: int) -> None:
    """Write the panels of weights that lie as [outputs, inputs]: squares of them are transposed in
    registers."""
    to.line("at = start")
    with to.block(f"for output in range(first, stop, {lanes}):"):
        to.line(
            f"count = min({lanes}, stop - output)",
            f"whole = last - (last - begin) % {lanes} if count == {lanes} else begin",
        )
        with to.block(f"for k in range(begin, whole, {lanes}):"):
            columns = emit_columns(to, lanes, lambda i: f"weights, (output + {i}) * inputs + k")
            for i, column in enumerate(columns):
                to.line(f"store(packed, at + (k - begin + {i}) * {lanes}, {column})")
        with to.block("for k in range(whole, last):"), to.block(f"for o in range({lanes}):"):
            to.line(
                "value = weights[(output + o) * inputs + k] if o < count else float32(0.0)",
                f"packed[at + (k - begin) * {lanes} + o] = value",
            )
        to.line(f"at += {lanes} * (last - begin)")


@last_kernels
def _spread(lanes: int, lie: Lie) -> cpu.Spread:
    """The kernel that fills all panels: a unit is some panels of all blocks of inputs."""
    to, together = Writer(), lanes if lie == "rows" else ROW
    emit_fill(to, lanes, lie)
    with (
        to.block("def kernel(weights, packed, sizes, begin, end):"),
        to.block("for unit in range(begin, end):"),
    ):
        to.line(
            "inputs, outputs, step = sizes[0], sizes[1], sizes[2]",
            f"first, panels = unit * {together}, (outputs + {lanes - 1}) // {lanes}",
            f"stop = min(outputs, first + {together})",
        )
        with to.block("for block in range(0, inputs, step):"):
            to.line(
                "last = min(inputs, block + step)",
                f"start = {lanes} * (block * panels + unit * {together // lanes} * (last - block))",
                "fill(weights, inputs, outputs, first, stop, block, last, packed, start)",
            )
    return cpu.Spread(source(f"linear_pack_{lie}", to.text(), lanes=lanes), ("float32",) * 2)
