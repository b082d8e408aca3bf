"""`reduce` in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.operator import MAX, MIN, PRODUCT, SUM, Operator
from rooftile.ops.patterns.reduce import Reduce

ATEN = "sum|amax|amin"
_NAMES = {SUM: "sum", MAX: "amax", MIN: "amin"}


def torch_modules(problem: Reduce, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that reduces, where PyTorch does so along any axes."""
    import torch

    if problem.operator not in _NAMES:
        return []
    find = getattr(torch, _NAMES[problem.operator])

    class Reduced(torch.nn.Module):  # type: ignore[misc]
        """The reduction of its input."""

        def forward(self, x: Any) -> Any:
            return find(x, dim=problem.axes)

    return [Reduced()]


def numpy_function(problem: Reduce, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """A function of NumPy's, for operators that have one."""
    functions: dict[Operator, Any] = {SUM: np.sum, PRODUCT: np.prod, MAX: np.max, MIN: np.min}
    if problem.operator not in functions:
        raise NotImplementedError(f"NumPy has no {problem.operator.expression}")
    find = functions[problem.operator]
    return lambda x: np.asarray(find(x, axis=problem.axes))
