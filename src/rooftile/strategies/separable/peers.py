"""`separable` in PyTorch and SciPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.separable import Separable
from rooftile.strategies.common.ndimage import correlated_along

ATEN = "convolution"


def torch_modules(problem: Separable, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that convolves with the column, then with the row; it pads where it must."""
    import torch

    column, row = (torch.tensor(p) for p in parameters)
    (high, wide), replicate = problem.mask, problem.boundary == "replicate"
    around = [(wide - 1) // 2, wide // 2, (high - 1) // 2, high // 2]

    class Filter(torch.nn.Module):  # type: ignore[misc]
        """The problem on x[batch, height, width] or x[height, width]."""

        def __init__(self) -> None:
            super().__init__()
            self.column = torch.nn.Parameter(column.reshape(1, 1, high, 1))
            self.row = torch.nn.Parameter(row.reshape(1, 1, 1, wide))

        def forward(self, x: Any) -> Any:
            images = x.reshape(-1, 1, problem.height, problem.width)
            if problem.boundary != "valid":
                mode = "replicate" if replicate else "constant"
                images = torch.nn.functional.pad(images, around, mode=mode)
            made = torch.nn.functional.conv2d(images, self.column)
            made = torch.nn.functional.conv2d(made, self.row)
            return made.reshape(*x.shape[:-2], *made.shape[-2:])

    return [Filter()]


def scipy_function(problem: Separable, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """``scipy.ndimage.correlate1d`` with the column, then with the row, on one thread."""
    column, row = (np.ascontiguousarray(p).reshape(-1) for p in parameters)

    def filtered(x: AnyArray) -> AnyArray:
        made = correlated_along(x, column, -2, problem.boundary)
        return correlated_along(made, row, -1, problem.boundary)

    return filtered
