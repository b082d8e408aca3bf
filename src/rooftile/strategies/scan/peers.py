"""`scan` in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.operator import MAX, MIN, PRODUCT, SUM
from rooftile.ops.scan import Scan

ATEN = "cumsum|cumprod|cummax|cummin"
"""PyTorch's operations that would do all of its work."""


def torch_modules(problem: Scan, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module for the operators that have a name, inclusive and forward."""
    import torch

    if problem.operator not in (SUM, PRODUCT, MAX, MIN) or problem.exclusive or problem.reverse:
        return []

    class Cumulative(torch.nn.Module):  # type: ignore[misc]
        """The scan of its input."""

        def forward(self, x: Any) -> Any:
            if problem.operator == SUM:
                return x.cumsum(problem.axis)
            if problem.operator == PRODUCT:
                return x.cumprod(problem.axis)
            most = problem.operator == MAX
            return (x.cummax if most else x.cummin)(problem.axis).values

    return [Cumulative()]
