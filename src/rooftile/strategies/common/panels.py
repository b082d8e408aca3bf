"""Put weights into panels for the CPU's vectors, on all cores.

A panel is [inputs][vector of outputs], for a block of inputs; outputs that do not exist weigh zero.
The panels of a block lie one after the other, then those of the next.  A unit of work is a panel
of all blocks.
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
    sizes = cpu.sizes_of(inputs, outputs, step)
    # A few are packed before the other cores could be told of it.
    count = threads if weights.size > _FEW_WEIGHTS else 1
    spread((given, packed), sizes, panels_of(outputs, lanes), count)


@contextlib.contextmanager
def _kernel(to: Writer, lanes: int) -> Iterator[None]:
    """Write the loops over panels and blocks of inputs: ``start`` is where input 0 would go."""
    with (
        to.block("def kernel(weights, packed, sizes, begin, end):"),
        to.block("for panel in range(begin, end):"),
    ):
        to.line(
            "inputs, outputs, step = sizes[0], sizes[1], sizes[2]",
            f"first, panels = panel * {lanes}, (outputs + {lanes - 1}) // {lanes}",
            f"count = min({lanes}, outputs - first)",
        )
        with to.block("for block in range(0, inputs, step):"):
            to.line(
                "last = min(inputs, block + step)",
                f"start = {lanes} * (block * panels + panel * (last - block) - block)",
            )
            yield


@cache
def _from_columns(lanes: int) -> cpu.Spread:
    """Weights that lie as [inputs, outputs]: a panel's rows are pieces of theirs."""
    to = Writer()
    with _kernel(to, lanes), to.block("for k in range(block, last):"):
        to.line(
            "piece = load_part(weights, k * outputs + first, count)",
            f"store(packed, start + k * {lanes}, piece)",
        )
    return cpu.Spread(source("linear_pack_columns", to.text(), lanes=lanes), ("float32",) * 2)


@cache
def _from_rows(lanes: int) -> cpu.Spread:
    """Weights that lie as [outputs, inputs]: squares of them are transposed in registers."""
    to = Writer()
    with _kernel(to, lanes):
        to.line(f"whole = last - (last - block) % {lanes} if count == {lanes} else block")
        with to.block(f"for k in range(block, whole, {lanes}):"):
            names = [f"r{i}" for i in range(lanes)]
            loads = (f"load(weights, (first + {i}) * inputs + k)" for i in range(lanes))
            to.line(*(f"{r} = {load}" for r, load in zip(names, loads, strict=True)))
            for i, row in enumerate(emit_transposition(to, lanes, names)):
                to.line(f"store(packed, start + (k + {i}) * {lanes}, {row})")
        with to.block("for k in range(whole, last):"), to.block(f"for o in range({lanes}):"):
            to.line(
                "value = weights[(first + o) * inputs + k] if o < count else float32(0.0)",
                f"packed[start + k * {lanes} + o] = value",
            )
    return cpu.Spread(source("linear_pack_rows", to.text(), lanes=lanes), ("float32",) * 2)
