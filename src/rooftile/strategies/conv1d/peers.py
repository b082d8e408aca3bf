"""`conv1d` in NumPy, SciPy and PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.boundary import extended
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.strategies.common.ndimage import correlated_along

ATEN = "convolution"


def torch_modules(problem: Conv1d, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that pads where it must, convolves, and clears what is not interior."""
    import torch

    masks = torch.tensor(parameters[0]).reshape(problem.maps, problem.channels, problem.mask)
    before, behind = (problem.mask - 1) // 2, problem.mask // 2
    even = before == behind

    class Convolution(torch.nn.Module):  # type: ignore[misc]
        """The problem on x[batch, channels, length] or x[length]."""

        def __init__(self) -> None:
            super().__init__()
            self.masks = torch.nn.Parameter(masks)

        def forward(self, x: Any) -> Any:
            signals = x.reshape(-1, problem.channels, problem.length)
            padded = 0
            if problem.boundary == "replicate":
                signals = torch.nn.functional.pad(signals, (before, behind), mode="replicate")
            elif problem.boundary != "valid":
                if even:
                    padded = before
                else:
                    signals = torch.nn.functional.pad(signals, (before, behind))
            made = torch.nn.functional.conv1d(signals, self.masks, padding=padded)
            if problem.boundary == "interior":
                made[..., :before] = 0.0
                made[..., max(0, problem.length - behind) :] = 0.0
            return made if problem.rank == 3 else made.reshape(-1)

    return [Convolution()]


def numpy_function(
    problem: Conv1d, parameters: Sequence[AnyArray]
) -> Callable[[AnyArray], AnyArray]:
    """``numpy.correlate`` of each signal with each mask, on one thread as NumPy has it."""
    masks = parameters[0].reshape(problem.maps, problem.channels, problem.mask)
    before, behind = (problem.mask - 1) // 2, problem.mask // 2

    def rows(x: AnyArray) -> AnyArray:
        signals = extended(x, (problem.mask,), problem.boundary)
        made = [
            [sum(map(partial(np.correlate, mode="valid"), signal, mask)) for mask in masks]
            for signal in signals.reshape(-1, problem.channels, signals.shape[-1])
        ]
        found = np.array(made, np.float32)
        if problem.boundary == "interior":
            found[..., :before] = 0.0
            found[..., max(0, problem.length - behind) :] = 0.0
        return found

    if problem.rank == 3:
        return rows
    # Of signal and mask NumPy slides the shorter one.
    if problem.boundary == "zero" and problem.mask % 2 and problem.mask <= problem.length:
        return lambda x: np.correlate(x, masks[0, 0], "same")
    return lambda x: rows(x)[0, 0]


def scipy_function(
    problem: Conv1d, parameters: Sequence[AnyArray]
) -> Callable[[AnyArray], AnyArray]:
    """``scipy.ndimage.correlate1d`` of each signal with each mask, on one thread."""
    masks = parameters[0].reshape(problem.maps, problem.channels, problem.mask)
    before, behind = (problem.mask - 1) // 2, problem.mask // 2

    def rows(x: AnyArray) -> AnyArray:
        along = partial(correlated_along, axis=-1, boundary=problem.boundary)
        if problem.rank == 1:
            found = along(x, masks[0, 0])
        else:
            made = [[sum(map(along, signal, mask)) for mask in masks] for signal in x]
            found = np.array(made, np.float32)
        if problem.boundary == "interior":
            found[..., :before] = 0.0
            found[..., max(0, problem.length - behind) :] = 0.0
        return found

    return rows
