"""`transpose` in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.transpose import Transpose

ATEN = "permute|transpose|contiguous|clone|copy"


def torch_modules(problem: Transpose, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that permutes the axes and moves the elements."""
    import torch

    class Permuted(torch.nn.Module):  # type: ignore[misc]
        """A contiguous copy of its input's permutation."""

        def forward(self, x: Any) -> Any:
            return x.permute(problem.axes).contiguous()

    return [Permuted()]


def numpy_function(problem: Transpose, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """A copy of NumPy's view."""
    return lambda x: np.ascontiguousarray(np.transpose(x, problem.axes))
