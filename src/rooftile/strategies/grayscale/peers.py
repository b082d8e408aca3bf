"""`grayscale` in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.grayscale import BITS, ONE, Grayscale

ATEN = "matmul|mv|mul|add"


def torch_modules(problem: Grayscale, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that weighs the colours in integers; PyTorch has no such function."""
    import torch

    class Gray(torch.nn.Module):  # type: ignore[misc]
        """The rounded weighted sum over the last axis."""

        def forward(self, image: Any) -> Any:
            red, green, blue = problem.weights
            wide = image.int()
            total = red * wide[..., 0] + green * wide[..., 1] + blue * wide[..., 2]
            return ((total + ONE // 2) >> BITS).to(torch.uint8)

    return [Gray()]


def numpy_function(problem: Grayscale, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """The weighted sum in integers."""
    weights = np.array(problem.weights, np.uint32)

    def gray(image: AnyArray) -> AnyArray:
        total = image @ weights
        return np.asarray(((total + ONE // 2) >> BITS).astype(np.uint8))

    return gray
