"""The public calls of the patterns' problems, and the pages that have their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import rooftile
from rooftile.ops.sparse.rows import ARRAYS
from rooftile.ops.sparse.spmv import Spmv

Call = Callable[..., Any]

_SORTS: Mapping[str, Callable[..., Call]] = {
    "values": lambda p, x: partial(rooftile.sort, x, p.axis),
    "places": lambda p, x: partial(rooftile.argsort, x, p.axis),
    "pairs": lambda p, x, with_it: partial(rooftile.sort_pairs, x, with_it, p.axis),
}

CALLS: Mapping[str, Callable[..., Call]] = {
    "matmul": lambda p, a, b: partial(
        rooftile.matmul, a, b, transpose_a=p.transpose_a, transpose_b=p.transpose_b
    ),
    "matvec": lambda p, a, x: partial(rooftile.matvec, a, x, transpose=p.transpose),
    "conv1d": lambda p, x, mask: partial(rooftile.conv1d, x, mask, boundary=p.boundary),
    "separable": lambda p, x, *masks: partial(rooftile.separable, x, *masks, boundary=p.boundary),
    "conv3d": lambda p, x, mask: partial(rooftile.conv3d, x, mask, boundary=p.boundary),
    "stencil": lambda p, x, coefficients: partial(
        rooftile.stencil, x, coefficients, steps=p.steps, boundary=p.boundary
    ),
    "transpose": lambda p, x: partial(rooftile.transpose, x, p.axes),
    "permute_columns": lambda p, x, index: partial(rooftile.permute_columns, x, index),
    "rotate": lambda p, x: partial(rooftile.rotate, x, p.shift),
    "elementwise": lambda p, *arrays: _elementwise(p.function, arrays),
    "grayscale": lambda p, image: partial(rooftile.grayscale, image),
    "box_blur": lambda p, image: partial(rooftile.box_blur, image, p.radius),
    "reduce": lambda p, x: partial(rooftile.reduce, x, p.operator, p.axis),
    "argreduce": lambda p, x: partial(rooftile.argreduce, x, p.operator, p.axis),
    "segmented_reduce": lambda p, x, offsets: partial(
        rooftile.segmented_reduce, x, offsets, p.operator
    ),
    "scan": lambda p, x: partial(
        rooftile.scan, x, p.operator, p.axis, exclusive=p.exclusive, reverse=p.reverse
    ),
    "segmented_scan": lambda p, x, offsets: partial(
        rooftile.segmented_scan, x, offsets, p.operator, exclusive=p.exclusive
    ),
    "histogram": lambda p, x: partial(rooftile.histogram, x, p.bins, (p.low, p.high)),
    "sort": lambda p, *arrays: _SORTS[p.gives](p, *arrays),
    "unique": lambda p, x: partial(rooftile.unique, x),
    "compact": lambda p, x, mask: partial(rooftile.compact, x, mask, ordered=p.ordered),
    "equalize": lambda p, image: partial(rooftile.equalize, image),
    "scatter": lambda p, x, index, values: partial(rooftile.scatter, x, index, values, p.function),
    "spmv": lambda p, *arrays: partial(rooftile.spmv, _sparse(p, arrays), arrays[-1]),
    "spmm": lambda p, *arrays: partial(rooftile.spmm, _sparse(p.vector, arrays), arrays[-1]),
}
"""The public call of a problem on its arrays; it takes ``strategy``, ``out`` and, where the
operation has them, ``precision``."""

BOUNDS: Mapping[str, Callable[[Any], int]] = {"permute_columns": lambda p: p.columns}
"""What integers that are indices are below, by operation."""

PAGES = {
    "matmul": "matmul",
    "matvec": "matmul",
    "conv1d": "conv1d",
    "separable": "conv1d",
    "conv3d": "conv3d",
    "stencil": "conv3d",
    "transpose": "transpose",
    "permute_columns": "transpose",
    "rotate": "transpose",
    "elementwise": "elementwise",
    "grayscale": "images",
    "box_blur": "images",
    "reduce": "reduce",
    "argreduce": "reduce",
    "segmented_reduce": "reduce",
    "scan": "scan",
    "segmented_scan": "scan",
    "histogram": "histogram",
    "sort": "sort",
    "unique": "sort",
    "compact": "compact",
    "equalize": "equalize",
    "scatter": "atomics",
    "spmv": "sparse",
    "spmm": "sparse",
}
"""The page of ``docs/`` that has an operation's numbers."""


def _elementwise(function: str, arrays: tuple[Any, ...]) -> Call:
    if function == "add":
        return partial(rooftile.add, *arrays)
    *others, alpha = arrays
    return partial(getattr(rooftile, function), float(alpha[0]), *others)


def _sparse(problem: Spmv, arrays: tuple[Any, ...]) -> rooftile.Sparse:
    """The matrix of a problem's arrays, whose last one is no part of it."""
    held = dict(zip(ARRAYS[problem.form], arrays, strict=False))
    # The problem's columns are drawn, not sorted, which products do not mind and `Sparse` refuses.
    shape = problem.rows, problem.columns
    return rooftile.Sparse._made(shape, problem.form, held, problem.entries)
