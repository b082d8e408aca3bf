"""`scan` in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.operator import MAX, MIN, PRODUCT, SUM
from rooftile.ops.patterns.scan import Scan

ATEN = "cumsum|cumprod|cummax|cummin"


def torch_modules(problem: Scan, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module for the operators that have a name, inclusive and forward."""
    import torch

    if problem.operator not in (SUM, PRODUCT, MAX, MIN) or problem.exclusive or problem.reverse:
        return []

    class Cumulative(torch.nn.Module):  # type: ignore[misc]
        """The scan of its input."""

        def forward(self, x: Any) -> Any:
            if problem.operator == SUM:
                return x.cumsum(problem.axis)
            if problem.operator == PRODUCT:
                return x.cumprod(problem.axis)
            most = problem.operator == MAX
            return (x.cummax if most else x.cummin)(problem.axis).values

    return [Cumulative()]


def numpy_function(problem: Scan, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """A ufunc's ``accumulate``, inclusive and forward."""
    functions = {SUM: np.add, PRODUCT: np.multiply, MAX: np.maximum, MIN: np.minimum}
    if problem.operator not in functions or problem.exclusive or problem.reverse:
        raise NotImplementedError("NumPy accumulates by named operators, inclusive and forward")
    accumulate = functions[problem.operator].accumulate
    dtype = problem.output_arrays[0].numpy
    return lambda x: np.asarray(accumulate(x, axis=problem.axis, dtype=dtype))
