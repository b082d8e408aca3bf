"""Put weights into panels for the CPU's vectors, on all cores.

A panel is [inputs][vector of outputs], for a block of inputs; outputs that do not exist weigh zero.
The panels of a block lie one after the other, then those of the next.  A unit of work is some
panels of all blocks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import source
from rooftile.ops import Float32
from rooftile.strategies.common.transposition import emit_transposition

_FEW_WEIGHTS = 2**13
_ROW = 64
"""Outputs that are read together where they lie beside each other: some cache lines, none of which
is wanted again when it has gone."""


def panels_of(outputs: int, lanes: int) -> int:
    """How many panels so many outputs have."""
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
    spread = _from_columns(lanes) if by_columns else _from_rows(lanes)
    units = -(-outputs // (_ROW if by_columns else lanes))
    sizes = cpu.sizes_of(inputs, outputs, step)
    # A few are packed before the other cores could be told of it.
    count = threads if weights.size > _FEW_WEIGHTS else 1
    spread((given, packed), sizes, units, count)


@contextlib.contextmanager
def _kernel(to: Writer, lanes: int, outputs: int) -> Iterator[None]:
    """Write the loops over units of so many outputs and over blocks of inputs: the unit's panels
    begin at ``start``, so ``size`` apart."""
    with (
        to.block("def kernel(weights, packed, sizes, begin, end):"),
        to.block("for unit in range(begin, end):"),
    ):
        to.line(
            "inputs, outputs, step = sizes[0], sizes[1], sizes[2]",
            f"first, panels = unit * {outputs}, (outputs + {lanes - 1}) // {lanes}",
            f"count = min({outputs}, outputs - first)",
        )
        with to.block("for block in range(0, inputs, step):"):
            to.line(
                "last = min(inputs, block + step)",
                f"size = {lanes} * (last - block)",
                f"start = {lanes} * block * panels + unit * {outputs // lanes} * size",
            )
            yield


@cache
def _from_columns(lanes: int) -> cpu.Spread:
    """Weights that lie as [inputs, outputs]: a panel's rows are pieces of theirs."""
    to = Writer()
    pieces = range(0, _ROW, lanes)
    with _kernel(to, lanes, _ROW):
        to.line("at = start")
        with to.block("for k in range(block, last):"):
            to.line("row = k * outputs + first")
            with to.block(f"if count == {_ROW}:"):
                to.line(*(f"p{o} = load(weights, row + {o})" for o in pieces))
                to.line(*(f"store(packed, at + {o // lanes} * size, p{o})" for o in pieces))
            with to.block("else:"), to.block(f"for o in range(0, count, {lanes}):"):
                to.line(
                    "piece = load_part(weights, row + o, count - o)",
                    f"store(packed, at + o // {lanes} * size, piece)",
                )
            to.line(f"at += {lanes}")
    return cpu.Spread(source("linear_pack_columns", to.text(), lanes=lanes), ("float32",) * 2)


@cache
def _from_rows(lanes: int) -> cpu.Spread:
    """Weights that lie as [outputs, inputs]: squares of them are transposed in registers."""
    to = Writer()
    with _kernel(to, lanes, lanes):
        to.line(f"whole = last - (last - block) % {lanes} if count == {lanes} else block")
        with to.block(f"for k in range(block, whole, {lanes}):"):
            names = [f"r{i}" for i in range(lanes)]
            loads = (f"load(weights, (first + {i}) * inputs + k)" for i in range(lanes))
            to.line(*(f"{r} = {load}" for r, load in zip(names, loads, strict=True)))
            for i, row in enumerate(emit_transposition(to, lanes, names)):
                to.line(f"store(packed, start + (k - block + {i}) * {lanes}, {row})")
        with to.block("for k in range(whole, last):"), to.block(f"for o in range({lanes}):"):
            to.line(
                "value = weights[(first + o) * inputs + k] if o < count else float32(0.0)",
                f"packed[start + (k - block) * {lanes} + o] = value",
            )
    return cpu.Spread(source("linear_pack_rows", to.text(), lanes=lanes), ("float32",) * 2)
