"""Put the weights of `blocked` into panels, on all cores.

A panel is [inputs][two vectors of outputs]; the last one has one vector where one is enough, and
outputs that do not exist weigh zero.  A unit of work is a panel.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import source
from rooftile.ops import Float32
from rooftile.strategies.common.transposition import emit_transposition
from rooftile.strategies.linear.cpu._blocked_source import VECTORS


def panels_of(outputs: int, lanes: int) -> int:
    """How many panels so many outputs have."""
    return -(-outputs // (VECTORS * lanes))


def packed_size(outputs: int, inputs: int, lanes: int) -> int:
    """float32 of all panels."""
    return -(-outputs // lanes) * lanes * inputs


def pack(weights: Float32, packed: Float32, lanes: int, threads: int) -> None:
    """Fill the panels from weights[outputs, inputs], which lie in either order."""
    outputs, inputs = weights.shape
    by_columns = weights.flags.f_contiguous and not weights.flags.c_contiguous
    given = weights.T if by_columns else np.ascontiguousarray(weights)
    spread = _from_columns(lanes) if by_columns else _from_rows(lanes)
    sizes = np.array([inputs, outputs], np.int64)
    spread((given, packed), sizes, panels_of(outputs, lanes), threads)


def _begin(to: Writer, lanes: int) -> None:
    whole = VECTORS * lanes
    to.line(
        "inputs, outputs = sizes[0], sizes[1]",
        f"first = panel * {whole}",
        f"count = min({whole}, outputs - first)",
        f"width = (count + {lanes - 1}) // {lanes} * {lanes}",
        "start = first * inputs",
    )


@cache
def _from_columns(lanes: int) -> cpu.Spread:
    """Weights that lie as [inputs, outputs]: a panel's rows are pieces of theirs."""
    to = Writer()
    with (
        to.block("def kernel(weights, packed, sizes, begin, end):"),
        to.block("for panel in range(begin, end):"),
    ):
        _begin(to, lanes)
        with to.block("for k in range(inputs):"):
            to.line("at, into = k * outputs + first, start + k * width")
            with to.block(f"for v in range(0, width, {lanes}):"):
                part = f"load_part(weights, at + v, min({lanes}, count - v))"
                to.line(f"store(packed, into + v, {part})")
    return cpu.Spread(source("linear_pack_columns", to.text(), lanes=lanes), ("float32",) * 2)


@cache
def _from_rows(lanes: int) -> cpu.Spread:
    """Weights that lie as [outputs, inputs]: squares of them are transposed in registers."""
    to = Writer()
    with (
        to.block("def kernel(weights, packed, sizes, begin, end):"),
        to.block("for panel in range(begin, end):"),
    ):
        _begin(to, lanes)
        with to.block(f"for v in range(0, width, {lanes}):"):
            to.line(
                f"rows = min({lanes}, count - v)",
                f"whole = inputs // {lanes} * {lanes} if rows == {lanes} else 0",
            )
            with to.block(f"for k in range(0, whole, {lanes}):"):
                _emit_transposed(to, lanes)
            with to.block("for k in range(whole, inputs):"), to.block(f"for o in range({lanes}):"):
                weight = "weights[(first + v + o) * inputs + k]"
                to.line(f"value = {weight} if o < rows else float32(0.0)")
                to.line("packed[start + k * width + v + o] = value")
    return cpu.Spread(source("linear_pack_rows", to.text(), lanes=lanes), ("float32",) * 2)


def _emit_transposed(to: Writer, lanes: int) -> None:
    """Write the transposition of a square."""
    names = [f"r{i}" for i in range(lanes)]
    to.line(*(f"{r} = load(weights, (first + v + {i}) * inputs + k)" for i, r in enumerate(names)))
    names = emit_transposition(to, lanes, names)
    to.line(*(f"store(packed, start + (k + {i}) * width + v, {r})" for i, r in enumerate(names)))
