"""`permute_columns` in PyTorch and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.permute_columns import PermuteColumns

ATEN = "index|index_select|gather|take"


def torch_modules(problem: PermuteColumns, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that selects columns."""
    import torch

    class Selected(torch.nn.Module):  # type: ignore[misc]
        """The columns of x by their numbers."""

        def forward(self, x: Any, index: Any) -> Any:
            return x.index_select(1, index)

    return [Selected()]


def numpy_function(
    problem: PermuteColumns, parameters: Sequence[AnyArray]
) -> Callable[..., AnyArray]:
    """``numpy.take`` along the columns."""
    return lambda x, index: np.take(x, index, axis=1)
