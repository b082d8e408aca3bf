"""The derivative of an activation, where nothing takes it on its way."""

from __future__ import annotations

from typing import Any

from rooftile.nn.training.gpu.launches import BoundLaunches
from rooftile.ops.gradients.activation_gradient import ActivationGradient


def times_derivative(work: BoundLaunches, activation: str, y: Any, dy: Any, count: int) -> None:
    """Append what multiplies a gradient by the derivative of an activation, in its place."""
    if activation != "none":
        work.run(ActivationGradient(count, activation), y, dy, dy)  # type: ignore[arg-type]
