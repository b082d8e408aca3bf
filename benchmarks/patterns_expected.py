"""What PyTorch makes of patterns that have no module of it, or whose sums it makes in float64 here.

Each function is given a problem and its arrays as tensors, numbers in double precision where they
are summed, and gives the outputs: those that are compared, which may be fewer than the problem has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from rooftile.ops.patterns.equalize import LEVELS, WEIGHTS, table_of

Tensor = Any
Outputs = tuple[Tensor, ...]


def product(problem: Any, values: Tensor, columns: Tensor, offsets: Tensor, x: Tensor) -> Outputs:
    """Of a matrix in CSR with a vector or a matrix, in parts that keep the terms few."""
    size = int(offsets.shape[0]) - 1
    places = torch.arange(size, device=x.device).repeat_interleave(offsets.diff())
    many = x if x.ndim == 2 else x[:, None]
    made = torch.zeros((size, many.shape[1]), dtype=torch.float64, device=x.device)
    at_once = max(1, _TERMS // many.shape[1])
    for first in range(0, len(values), at_once):
        part = slice(first, first + at_once)
        terms = values[part].double()[:, None] * many[columns[part].long()].double()
        made.index_add_(0, places[part], terms)
    return (made if x.ndim == 2 else made[:, 0],)


def product_magnitude(problem: Any, *arrays: Tensor) -> Outputs:
    """The terms' magnitudes times the root of their number."""
    values, columns, offsets, x = arrays
    (made,) = product(problem, values.abs(), columns, offsets, x.abs())
    roots = (offsets.diff().double() + 1).sqrt()
    return (made * (roots if made.ndim == 1 else roots[:, None]),)


def _segments(x: Tensor, offsets: Tensor) -> Tensor:
    """The sums of segments, each by itself: differences of running sums would lose small ones."""
    return torch.segment_reduce(x.double(), "sum", offsets=offsets, initial=0.0)


def segment_sums(problem: Any, x: Tensor, offsets: Tensor) -> Outputs:
    """Of `segmented_reduce`."""
    return (_segments(x, offsets),)


def segment_magnitude(problem: Any, x: Tensor, offsets: Tensor) -> Outputs:
    """The sums of magnitudes times the root of the segment's length."""
    lengths = offsets.diff().clamp(min=1).double()
    return (_segments(x.abs(), offsets) * lengths.sqrt(),)


def segment_scans(problem: Any, x: Tensor, offsets: Tensor) -> Outputs:
    """Of `segmented_scan`: running sums without what came before the segment."""
    running = x.cumsum(0, dtype=torch.float64)
    before = torch.where(offsets > 0, running[(offsets.long() - 1).clamp(min=0)], 0.0)[:-1]
    return (running - before.repeat_interleave(offsets.diff()),)


def segment_scan_magnitude(problem: Any, x: Tensor, offsets: Tensor) -> Outputs:
    """Of `segmented_scan`."""
    return segment_scans(problem, x.abs(), offsets)


def _sorted(problem: Any, x: Tensor, *with_it: Tensor) -> Outputs:
    values, places = torch.sort(x, dim=problem.axis, stable=True)
    if problem.gives == "places":
        return (places,)
    if problem.gives == "values":
        return (values,)
    return values, with_it[0].gather(problem.axis, places)


def _counted(problem: Any, x: Tensor) -> Outputs:
    """Bytes by their value, numbers by the edges; PyTorch counts in parts of 2^24."""
    total = torch.zeros(problem.bins, dtype=torch.int64, device=x.device)
    edges = torch.from_numpy(problem.even_edges).to(x.device, torch.float64)
    for part in x.split(2**24):
        found = torch.bucketize(part.double(), edges, right=True) - 1
        found[part == edges[-1]] = problem.bins - 1
        inside = found[(found >= 0) & (found < problem.bins)]
        total += torch.bincount(inside, minlength=problem.bins)
    return (total,)


def _kept(problem: Any, x: Tensor, mask: Tensor) -> Outputs:
    y = x[mask]
    return y, torch.tensor([len(y)], device=x.device)


def _unique(problem: Any, x: Tensor) -> Outputs:
    return (torch.unique(x),)


def _equalized(problem: Any, image: Tensor) -> Outputs:
    """By the rule of `rooftile.ops.patterns.equalize`, whose table the host makes."""
    levels = image.long()
    if problem.channels == 3:
        parts = [w * (image[..., i].double() / 255) for i, w in enumerate(WEIGHTS)]
        levels = (255 * (parts[0] + parts[1] + parts[2]) + 0.5).floor().long()
    counts = torch.bincount(levels.reshape(-1), minlength=LEVELS)
    table = torch.from_numpy(table_of(counts.cpu().numpy())).to(image.device)
    return (table[image.long()],)


def _scattered(problem: Any, x: Tensor, index: Tensor, values: Tensor) -> Outputs:
    return (x.double().index_add(0, index.long(), values.double()).to(x.dtype),)


EXACT: Mapping[str, Callable[..., Outputs]] = {
    "sort": _sorted,
    "histogram": _counted,
    "compact": _kept,
    "unique": _unique,
    "equalize": _equalized,
    "scatter": _scattered,
}
"""Operations whose results are compared element by element, as far as these go."""
SUMMED: Mapping[str, tuple[Callable[..., Outputs], Callable[..., Outputs]]] = {
    "spmv": (product, product_magnitude),
    "spmm": (product, product_magnitude),
    "segmented_reduce": (segment_sums, segment_magnitude),
    "segmented_scan": (segment_scans, segment_scan_magnitude),
}
"""Reference and magnitude of operations that have a budget."""
_TERMS = 2**27
"""Products that are held at a time."""
