"""`conv3d` in PyTorch and SciPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.ops.patterns.volumes import before
from rooftile.strategies.common.ndimage import correlated

ATEN = "convolution"


def torch_modules(problem: Conv3d, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that convolves; where a mask has no middle, ghost cells are padded apart."""
    import torch

    p = problem
    weights = torch.from_numpy(parameters[0].copy()).reshape(p.maps, p.channels, *p.mask)
    first = before(p.mask) if p.boundary == "zero" else (0, 0, 0)
    padded = p.boundary == "zero" and any(size % 2 == 0 for size in p.mask)
    ghosts = [(f, size - 1 - f) for f, size in zip(first, p.mask, strict=True)]
    pad = [count for pair in reversed(ghosts) for count in pair]

    class Convolution(torch.nn.Module):  # type: ignore[misc]
        """The convolution of its input."""

        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.Parameter(weights, requires_grad=False)

        def forward(self, x: Any) -> Any:
            x = x.reshape(-1, p.channels, *p.size)
            if padded:
                x = torch.nn.functional.pad(x, pad)
                return torch.nn.functional.conv3d(x, self.weights)
            return torch.nn.functional.conv3d(x, self.weights, padding=first)

    return [Convolution()]


def scipy_function(problem: Conv3d, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """``scipy.ndimage.correlate`` of each channel with its mask, on one thread."""
    p = problem
    weights = parameters[0].reshape(p.maps, p.channels, *p.mask)

    def convolution(x: AnyArray) -> AnyArray:
        volumes = x.reshape(-1, p.channels, *p.size)
        if p.maps * p.channels * len(volumes) == 1:
            return correlated(volumes[0, 0], weights[0, 0], p.boundary)
        made = [
            [sum(correlated(*pair, p.boundary) for pair in zip(v, w, strict=True)) for w in weights]
            for v in volumes
        ]
        return np.array(made, np.float32)

    return convolution
