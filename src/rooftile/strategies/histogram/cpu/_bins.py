"""The base of the CPU's strategies of `histogram`: kernels that count shares of x in own tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import native, values_of
from rooftile.ops import AnyArray
from rooftile.ops.patterns.histogram import Histogram
from rooftile.ops.problem import Float64

_UNIT_ROUNDOFF = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
_DOUBLE_ROUNDOFF = 2.0**-52
"""Of an edge in double precision, which is two roundings."""
_LITTLE = 2.0**-40
"""More than double precision errs in an estimate, as a share of the number of bins."""


@native
def _even_bin(value, bins, edges, rule):  # type: ignore[no-untyped-def]
    low, scale, slack = edges[0], rule[0], rule[1]
    # Written so that NaN is in no bin.
    if not (value >= low and value <= edges[bins]):
        return -1
    estimate = (value - low) * scale
    bin = min(int(estimate), bins - 1)
    beyond = estimate - np.float64(bin)
    if beyond < slack or beyond > 1.0 - slack:
        while bin > 0 and value < edges[bin]:
            bin -= 1
        while bin < bins - 1 and value >= edges[bin + 1]:
            bin += 1
    return bin


@native
def _edge_bin(value, bins, edges):  # type: ignore[no-untyped-def]
    if not (value >= edges[0] and value <= edges[bins]):
        return -1
    first, last = 0, bins - 1
    while first < last:
        middle = (first + last + 1) // 2
        if value >= edges[middle]:
            first = middle
        else:
            last = middle - 1
    return first


@native
def even_counts(x, edges, rule, tables, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are shares of x; bins are even."""
    count, bins, parts, copies = sizes[0], sizes[1], sizes[2], sizes[3]
    for part in range(begin, end):
        for i in range(count * part // parts, count * (part + 1) // parts):
            bin = _even_bin(np.float64(x[i]), bins, edges, rule)
            if bin >= 0:
                tables[(part * copies + (i & (copies - 1))) * bins + bin] += 1


@native
def edge_counts(x, edges, tables, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are shares of x; edges are given."""
    count, bins, parts, copies = sizes[0], sizes[1], sizes[2], sizes[3]
    for part in range(begin, end):
        for i in range(count * part // parts, count * (part + 1) // parts):
            bin = _edge_bin(x[i], bins, edges)
            if bin >= 0:
                tables[(part * copies + (i & (copies - 1))) * bins + bin] += 1


@native
def even_sums(x, edges, rule, weights, tables, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are shares of x; bins are even."""
    count, bins, parts, copies = sizes[0], sizes[1], sizes[2], sizes[3]
    for part in range(begin, end):
        for i in range(count * part // parts, count * (part + 1) // parts):
            bin = _even_bin(np.float64(x[i]), bins, edges, rule)
            if bin >= 0:
                tables[(part * copies + (i & (copies - 1))) * bins + bin] += np.float64(weights[i])


@native
def edge_sums(x, edges, weights, tables, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are shares of x; edges are given."""
    count, bins, parts, copies = sizes[0], sizes[1], sizes[2], sizes[3]
    for part in range(begin, end):
        for i in range(count * part // parts, count * (part + 1) // parts):
            bin = _edge_bin(x[i], bins, edges)
            if bin >= 0:
                tables[(part * copies + (i & (copies - 1))) * bins + bin] += np.float64(weights[i])


@native
def byte_counts(words, tables, sizes, begin, end):  # type: ignore[no-untyped-def]
    """Units are shares of words of eight bytes, each of which has tables of its own."""
    count, parts = sizes[0], sizes[1]
    for part in range(begin, end):
        table = part * 8 * 256
        for i in range(count * part // parts, count * (part + 1) // parts):
            word = words[i]
            tables[table + (word & 255)] += 1
            tables[table + 256 + ((word >> 8) & 255)] += 1
            tables[table + 512 + ((word >> 16) & 255)] += 1
            tables[table + 768 + ((word >> 24) & 255)] += 1
            tables[table + 1024 + ((word >> 32) & 255)] += 1
            tables[table + 1280 + ((word >> 40) & 255)] += 1
            tables[table + 1536 + ((word >> 48) & 255)] += 1
            tables[table + 1792 + ((word >> 56) & 255)] += 1


def counting(
    problem: Histogram, parts: int, copies: int, threads: int
) -> Callable[[Sequence[AnyArray]], AnyArray]:
    """``count(inputs)`` gives a problem's bins.

    ``parts`` shares have ``copies`` tables each, a power of two.
    """
    rule = None if problem.edges else _rule(problem)
    kernel = _KERNELS[rule is None, problem.weighted]
    wide = "float64" if problem.weighted else "int64"
    x, *others = (values_of(array.dtype) for array in problem.input_arrays)
    told = [] if rule is None else ["float64"]
    if problem.edges:
        count = cpu.Spread(kernel, [x, *others, wide])
    else:
        count = cpu.Spread(kernel, [x, "float64", *told, *others, wide])
    even = () if problem.edges else (problem.even_edges, *(() if rule is None else (rule,)))
    sizes = np.array((problem.count, problem.bins, parts, copies), np.int64)
    shape = (parts * copies, problem.bins)
    tables = cpu.aligned(shape, np.dtype(wide), "histograms of shares")

    def counted(inputs: Sequence[AnyArray]) -> AnyArray:
        tables[...] = 0
        count((inputs[0], *even, *inputs[1:], tables), sizes, parts, threads)
        made: AnyArray = tables.sum(axis=0)
        return made

    return counted


def _rule(problem: Histogram) -> Float64 | None:
    """Bins in a unit, and how far an estimate may be off; None where it could be off by a bin."""
    low, high, bins = float(problem.low), float(problem.high), problem.bins
    with np.errstate(over="ignore"):
        scale = float(np.float64(bins) / np.float64(high - low))
    unit = _UNIT_ROUNDOFF.get(problem.dtype, _DOUBLE_ROUNDOFF)
    slack = _LITTLE * bins + unit * max(abs(low), abs(high)) * scale
    return np.array((scale, slack)) if slack < 1 else None


_KERNELS = {
    (False, False): even_counts,
    (True, False): edge_counts,
    (False, True): even_sums,
    (True, True): edge_sums,
}
"""By whether edges are searched, and weights given."""
