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

    functions = {
        SUM: lambda x: x.cumsum(problem.axis),
        PRODUCT: lambda x: x.cumprod(problem.axis),
        MAX: lambda x: x.cummax(problem.axis).values,
        MIN: lambda x: x.cummin(problem.axis).values,
    }
    function = functions.get(problem.operator)
    if function is None or problem.exclusive or problem.reverse:
        return []

    class Cumulative(torch.nn.Module):  # type: ignore[misc]
        """The scan of its input."""

        def forward(self, x: Any) -> Any:
            return function(x)

    return [Cumulative()]
