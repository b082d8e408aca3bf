"""`matvec` in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.matvec import Matvec


def torch_modules(problem: Matvec, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that multiplies its two inputs, read as they lie."""
    import torch

    class Product(torch.nn.Module):  # type: ignore[misc]
        """The product of its inputs."""

        def forward(self, a: Any, x: Any) -> Any:
            return torch.mv(a.t() if problem.transpose else a, x)

    return [Product()]


def numpy_function(problem: Matvec, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """NumPy's product, by its BLAS."""
    return lambda a, x: np.asarray((a.T if problem.transpose else a) @ x)
