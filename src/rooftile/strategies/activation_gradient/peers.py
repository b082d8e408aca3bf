"""`activation_gradient` in PyTorch: what its autograd calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.gradients.activation_gradient import ActivationGradient

ATEN = "backward|expm1|mul|clone"


def torch_modules(problem: ActivationGradient, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module of y and dy."""
    import torch

    class Gradient(torch.nn.Module):  # type: ignore[misc]
        """dx of y and dy."""

        def forward(self, y: Any, dy: Any) -> Any:
            if problem.activation == "gelu":
                return torch.ops.aten.gelu_backward(dy, y)
            if problem.activation == "relu":
                return torch.ops.aten.threshold_backward(dy, y, 0)
            if problem.activation == "sigmoid":
                return torch.ops.aten.sigmoid_backward(dy, y)
            if problem.activation == "tanh":
                return torch.ops.aten.tanh_backward(dy, y)
            return dy * -torch.expm1(-y) if problem.activation == "softplus" else dy.clone()

    return [Gradient()]
