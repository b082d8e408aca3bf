"""`softmax_gradient` in PyTorch: what its autograd calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.gradients.softmax_gradient import SoftmaxGradient

ATEN = "_softmax_backward_data"


def torch_modules(problem: SoftmaxGradient, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module of y and dy."""
    import torch

    class Gradient(torch.nn.Module):  # type: ignore[misc]
        """dx of y and dy."""

        def forward(self, y: Any, dy: Any) -> Any:
            return torch.ops.aten._softmax_backward_data(dy, y, 1, y.dtype)

    return [Gradient()]
