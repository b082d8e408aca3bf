"""`reduce` in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.operator import MAX, MIN, SUM
from rooftile.ops.reduce import Reduce

ATEN = "sum|amax|amin"
"""PyTorch's operations that would do all of its work."""
_NAMES = {SUM: "sum", MAX: "amax", MIN: "amin"}


def torch_modules(problem: Reduce, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that reduces, where PyTorch does so along any axes."""
    import torch

    if problem.operator not in _NAMES:
        return []
    find = getattr(torch, _NAMES[problem.operator])

    class Reduced(torch.nn.Module):  # type: ignore[misc]
        """What its input is reduced to."""

        def forward(self, x: Any) -> Any:
            return find(x, dim=problem.axes)

    return [Reduced()]
