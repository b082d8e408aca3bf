"""`reduce` in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.reduce import Reduce

ATEN = "sum"
"""PyTorch's operations that would do all of its work."""


def torch_modules(problem: Reduce, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that sums; PyTorch too sums uint8 in int64."""
    import torch

    class Sum(torch.nn.Module):  # type: ignore[misc]
        """The sum of its input."""

        def forward(self, x: Any) -> Any:
            return x.sum() if problem.axis is None else x.sum(dim=problem.axis)

    return [Sum()]
