"""`pool2d` in other libraries: PyTorch's modules, ONNX nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rooftile.ops import Float32, Pool2d
from rooftile.strategies.common.torch_layers import activated, filled, pooled

CHANNELS_LAST = True
"""True if PyTorch lays its arrays out with the channels last, too."""


def torch_modules(problem: Pool2d, parameters: Sequence[Float32]) -> list[Any]:
    """Its modules, holding copies of the parameters; a weighted sum is a convolution of each
    channel by itself."""
    import torch
    from torch import nn

    pool, channels = problem.pool, problem.channels
    masks, bias = _masks_and_bias(problem, parameters)
    if masks is not None:
        conv = nn.Conv2d(channels, channels, pool.window, pool.stride, groups=channels)
        return [filled(conv, (masks, bias)), *activated(pool.activation)]
    if not problem.bias:
        return pooled(pool)

    class Biased(nn.Module):  # type: ignore[misc]
        """Adds a channel's bias."""

        def __init__(self) -> None:
            super().__init__()
            self.bias = nn.Parameter(torch.tensor(bias).reshape(-1, 1, 1))

        def forward(self, x: Any) -> Any:
            return x + self.bias

    module, *behind = pooled(pool)
    return [module, Biased(), *behind]


def onnx_nodes(graph: Any, problem: Pool2d, parameters: Sequence[Float32]) -> None:
    """Add its nodes to a graph of `rooftile.lab.measure.peers.onnx`."""
    pool = problem.pool
    masks, bias = _masks_and_bias(problem, parameters)
    if masks is None:
        graph.window(pool)
        if problem.bias:
            graph.node("Add", bias.reshape(1, -1, 1, 1))
    else:
        sizes = {"kernel_shape": pool.window, "strides": pool.stride}
        graph.node("Conv", masks, bias, group=problem.channels, **sizes)
    graph.activate(pool.activation)


def _masks_and_bias(
    problem: Pool2d, parameters: Sequence[Float32]
) -> tuple[Float32 | None, Float32]:
    """A weighted sum's weights as masks of each channel, and the bias or zeros."""
    of_channels = parameters[-1] if problem.bias else np.zeros(problem.channels, np.float32)
    if problem.pool.kind != "weighted":
        return None, of_channels
    return np.repeat(parameters[0][None, None], problem.channels, axis=0), of_channels
