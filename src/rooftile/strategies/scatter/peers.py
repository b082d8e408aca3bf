"""`scatter` in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.scatter import Scatter

ATEN = "scatter_add|scatter_reduce|index_add|index_reduce"
_REDUCES = {"add": "sum", "min": "amin", "max": "amax", "multiply": "prod"}
_UFUNCS: dict[str, Any] = {
    "add": np.add,
    "subtract": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
    "multiply": np.multiply,
}


def torch_modules(problem: Scatter, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module, for functions that PyTorch has."""
    import torch

    if problem.function not in _REDUCES:
        return []

    class Scattered(torch.nn.Module):  # type: ignore[misc]
        """Its first input, updated by the third where the second says."""

        def forward(self, x: Any, index: Any, values: Any) -> Any:
            return x.scatter_reduce(0, index.long(), values, _REDUCES[problem.function])

    return [Scattered()]


def numpy_function(problem: Scatter, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """A ufunc's ``at`` on a copy.  Raises `NotImplementedError` for what has none."""
    if problem.function not in _UFUNCS:
        raise NotImplementedError(f"NumPy has no {problem.function} at places")
    update = _UFUNCS[problem.function].at

    def updated(x: AnyArray, index: AnyArray, values: AnyArray) -> AnyArray:
        y = x.copy()
        update(y, index, values)
        return y

    return updated
