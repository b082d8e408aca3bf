"""`histogram` in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.histogram import Histogram

ATEN = "bincount|histc|histogram|bucketize|searchsorted"


def torch_modules(problem: Histogram, parameters: Sequence[AnyArray]) -> list[Any]:
    """`bincount` of integers that are bins; `bucketize` and `bincount` of anything else, for
    `histc` gives other counts at edges."""
    import torch

    class Counts(torch.nn.Module):  # type: ignore[misc]
        """The counts, or the sums of weights."""

        def __init__(self) -> None:
            super().__init__()
            dtype = np.float32 if problem.dtype == "float32" else np.float64
            self.register_buffer("even", torch.from_numpy(problem.even_edges.astype(dtype)))

        def forward(self, x: Any, *others: Any) -> Any:
            weights = others[-1] if problem.weighted else None
            if problem.unit and problem.dtype == "uint8" and problem.bins == 256:
                return torch.bincount(x, weights, minlength=256)
            edges = others[0] if problem.edges else self.even
            found = torch.bucketize(x, edges, right=True) - 1
            found[x == edges[-1]] = problem.bins - 1
            inside = (found >= 0) & (found < problem.bins)
            kept = None if weights is None else weights[inside]
            return torch.bincount(found[inside], kept, minlength=problem.bins)

    return [Counts()]


def numpy_function(problem: Histogram, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """`numpy.histogram`, or `numpy.bincount` of bytes by value."""
    by_value = problem.unit and problem.dtype == "uint8" and problem.bins == 256
    if by_value and not problem.weighted:
        return lambda x: np.bincount(x, minlength=256)
    ends = problem.low, problem.high

    def counted(x: AnyArray, *others: AnyArray) -> AnyArray:
        bins: Any = others[0] if problem.edges else problem.bins
        weights = others[-1] if problem.weighted else None
        return np.histogram(x, bins, None if problem.edges else ends, weights=weights)[0]

    return counted
