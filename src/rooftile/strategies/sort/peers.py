"""`sort` in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.sort import Sort

ATEN = "sort|argsort|msort|topk"


def torch_modules(problem: Sort, parameters: Sequence[AnyArray]) -> list[Any]:
    """`torch.sort`, stable where places are asked for.  Raises `NotImplementedError` for pairs."""
    import torch

    _check(problem)

    class Sorted(torch.nn.Module):  # type: ignore[misc]
        """The sorted elements of its input, or where they were."""

        def forward(self, x: Any) -> Any:
            back = problem.descending
            if problem.gives == "places":
                return torch.argsort(x, dim=problem.axis, descending=back, stable=True)
            return torch.sort(x, dim=problem.axis, descending=back).values

    return [Sorted()]


def numpy_function(problem: Sort, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """`numpy.sort`, or the stable `numpy.argsort`.

    Raises `NotImplementedError` for pairs and for a descending order.
    """
    _check(problem)
    _check_rising(problem)

    def sorted_(x: AnyArray) -> AnyArray:
        if problem.gives == "places":
            return np.argsort(x, axis=problem.axis, kind="stable")
        return np.sort(x, axis=problem.axis)

    return sorted_


def _check(problem: Sort) -> None:
    if problem.gives == "pairs":
        raise NotImplementedError("no single call moves other numbers along")


def _check_rising(problem: Sort) -> None:
    if problem.descending:
        raise NotImplementedError("NumPy sorts from the least to the greatest")
