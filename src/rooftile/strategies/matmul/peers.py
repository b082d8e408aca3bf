"""`matmul` in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.matmul import Matmul


def torch_modules(problem: Matmul, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that multiplies its two inputs, read as they lie."""
    import torch

    class Product(torch.nn.Module):  # type: ignore[misc]
        """The product of its inputs."""

        def forward(self, a: Any, b: Any) -> Any:
            left = a.t() if problem.transpose_a else a
            return left @ (b.t() if problem.transpose_b else b)

    return [Product()]


def numpy_function(problem: Matmul, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """NumPy's product, by the BLAS that it brings."""

    def product(a: AnyArray, b: AnyArray) -> AnyArray:
        left = a.T if problem.transpose_a else a
        return np.asarray(left @ (b.T if problem.transpose_b else b))

    return product
