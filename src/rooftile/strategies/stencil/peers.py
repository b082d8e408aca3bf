"""`stencil` in PyTorch and SciPy: convolutions with a mask; a star's has zeros off its axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.patterns.stencil import Stencil
from rooftile.strategies.common.ndimage import correlated

ATEN = "convolution"


def torch_modules(problem: Stencil, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that convolves as often as there are steps."""
    import torch

    p = problem
    mask = p.dense(parameters[0])
    weights = torch.from_numpy(mask).reshape(1, 1, *p.mask[3 - p.rank :])
    convolve = torch.nn.functional.conv2d if p.rank == 2 else torch.nn.functional.conv3d
    ghosts = tuple(size // 2 for size in p.mask[3 - p.rank :]) if p.boundary == "zero" else 0

    class Steps(torch.nn.Module):  # type: ignore[misc]
        """All steps on its input."""

        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.Parameter(weights, requires_grad=False)

        def forward(self, x: Any) -> Any:
            x = x.reshape(1, 1, *p.shape)
            for _ in range(p.steps):
                x = convolve(x, self.weights, padding=ghosts)
            return x

    return [Steps()]


def scipy_function(problem: Stencil, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """``scipy.ndimage.correlate`` as often as there are steps, on one thread."""
    p = problem
    mask = p.dense(parameters[0])[0, 0].reshape(p.mask[3 - p.rank :])

    def steps(x: AnyArray) -> AnyArray:
        for _ in range(p.steps):
            x = correlated(x, mask, p.boundary)
        return x

    return steps
