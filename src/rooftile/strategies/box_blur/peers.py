"""`box_blur` in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.box_blur import BoxBlur

ATEN = "avg_pool2d|convolution"
"""PyTorch's operations that would do all of its work."""
_NUDGE = 2.0**-12
"""What keeps a mean that is whole from being rounded down to the byte below."""


def torch_modules(problem: BoxBlur, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that takes the mean of what is inside, in float32; PyTorch has none for bytes."""
    import torch

    mean = torch.nn.AvgPool2d(problem.window, 1, problem.radius, count_include_pad=False)

    class Blur(torch.nn.Module):  # type: ignore[misc]
        """The mean of each window, rounded down."""

        def forward(self, image: Any) -> Any:
            planes = image.reshape(problem.height, problem.width, -1).permute(2, 0, 1)[None]
            means = mean(planes.float()) + _NUDGE
            return means[0].permute(1, 2, 0).reshape(image.shape).to(torch.uint8)

    return [Blur()]
