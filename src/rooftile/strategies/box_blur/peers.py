"""`box_blur` in PyTorch and SciPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.box_blur import BoxBlur

ATEN = "avg_pool2d|convolution"
_NUDGE = 2.0**-12
"""A nudge that keeps a whole mean from being rounded down to the byte below."""


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


def scipy_function(problem: BoxBlur, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """The sums of windows by its uniform filter, in float32, over how many pixels each has."""
    from scipy import ndimage

    window = problem.window
    sizes = [window, window, 1]
    inside = [np.ones(size, np.float32) for size in (problem.height, problem.width)]
    rows, columns = (
        np.rint(window * ndimage.uniform_filter1d(ones, window, mode="constant")) for ones in inside
    )
    scale = (window * window / (rows[:, None] * columns)).astype(np.float32)[:, :, None]

    def blur(image: AnyArray) -> AnyArray:
        pixels = image.reshape(problem.height, problem.width, -1).astype(np.float32)
        means = ndimage.uniform_filter(pixels, sizes, mode="constant") * scale + _NUDGE
        return np.asarray(means.astype(np.uint8).reshape(image.shape))

    return blur
