"""`unique` in PyTorch and NumPy: the first of each run, as of elements that are sorted already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.unique import Unique

ATEN = "unique_consecutive|unique"


def torch_modules(problem: Unique, parameters: Sequence[AnyArray]) -> list[Any]:
    """`torch.unique_consecutive`.  Raises `NotImplementedError` for places and lengths of runs."""
    import torch

    _check(problem)

    class Firsts(torch.nn.Module):  # type: ignore[misc]
        """The first element of each run of its input."""

        def forward(self, x: Any) -> Any:
            return torch.unique_consecutive(x)

    return [Firsts()]


def numpy_function(problem: Unique, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """A comparison of neighbours, and a selection by it.

    Raises `NotImplementedError` for places and lengths of runs.
    """
    _check(problem)

    def firsts(x: AnyArray) -> AnyArray:
        begins = np.empty(x.size, np.bool_)
        begins[0] = True
        np.not_equal(x[1:], x[:-1], out=begins[1:])
        return x[begins]

    return firsts


def _check(problem: Unique) -> None:
    if problem.runs:
        raise NotImplementedError("no single call takes an order of the elements")
