"""`elementwise` in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.elementwise import Elementwise

ATEN = "add|mul|addcmul"


def torch_modules(problem: Elementwise, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that adds, scales, or both."""
    import torch

    class Combined(torch.nn.Module):  # type: ignore[misc]
        """The function of x, y and alpha, as far as it has them."""

        def forward(self, x: Any, *others: Any) -> Any:
            if problem.function == "add":
                return x + others[0]
            if problem.function == "scale":
                return others[0] * x
            return torch.addcmul(others[0], others[1], x)

    return [Combined()]


def numpy_function(problem: Elementwise, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """NumPy's operators, on one thread as NumPy has them."""
    if problem.function == "add":
        return np.add
    if problem.function == "scale":
        return lambda x, alpha: np.multiply(alpha, x)
    return lambda x, y, alpha: alpha * x + y
