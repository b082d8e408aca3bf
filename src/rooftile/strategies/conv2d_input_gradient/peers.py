"""`conv2d_input_gradient` in PyTorch; behind a max-pool, gradients are spread over zeros first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient

ATEN = "convolution_backward|conv|scatter"


def torch_modules(problem: Conv2dInputGradient, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module of dy and, behind a pool, where; none behind an activation."""
    import torch

    if problem.before != "none":
        return []
    layer, (weights,) = problem.layer, parameters
    size = layer.input_shape

    class Gradient(torch.nn.Module):  # type: ignore[misc]
        """dx of dy, with the weights."""

        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.Parameter(torch.tensor(weights))

        def forward(self, dy: Any, *where: Any) -> Any:
            images = dy.shape[0]
            if where:
                flat = dy.new_zeros(images, layer.maps, layer.conv_size[0] * layer.conv_size[1])
                flat.scatter_add_(2, where[0].flatten(2).long(), dy.flatten(2))
                dy = flat.reshape(images, layer.maps, *layer.conv_size)
            return torch.nn.grad.conv2d_input(
                (images, *size[1:]), self.weights, dy, layer.stride, layer.padding
            )

    return [Gradient()]
