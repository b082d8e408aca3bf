"""`rotate` in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.rotate import Rotate

ATEN = "roll"


def torch_modules(problem: Rotate, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that rolls along the last axis."""
    import torch

    class Rolled(torch.nn.Module):  # type: ignore[misc]
        """Its input, moved on."""

        def forward(self, x: Any) -> Any:
            return torch.roll(x, problem.shift, -1)

    return [Rolled()]


def numpy_function(problem: Rotate, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """``numpy.roll``."""
    return lambda x: np.roll(x, problem.shift, -1)
