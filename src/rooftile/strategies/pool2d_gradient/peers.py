"""`pool2d_gradient` in PyTorch, which finds the argmax again, as ours does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.gradients.pool2d_gradient import Pool2dGradient

ATEN = "pool2d"


def torch_modules(problem: Pool2dGradient, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module of x and dy."""
    import torch

    window, stride = list(problem.pool.window), list(problem.pool.stride)

    class Gradient(torch.nn.Module):  # type: ignore[misc]
        """dx of x and dy."""

        def forward(self, x: Any, dy: Any) -> Any:
            aten = torch.ops.aten
            if problem.pool.kind == "average":
                averaged = window, stride, [0, 0], False, True, None
                return aten.avg_pool2d_backward(dy, x, *averaged)
            given = window, stride, [0, 0], [1, 1], False
            _, where = aten.max_pool2d_with_indices(x, *given)
            return aten.max_pool2d_with_indices_backward(dy, x, *given, where)

    return [Gradient()]
