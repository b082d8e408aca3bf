"""`conv2d` in other libraries: PyTorch's modules, ONNX nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import Conv2d, Float32
from rooftile.strategies.common.torch_layers import activated, filled, pooled

CHANNELS_LAST = True
"""Whether PyTorch lays its arrays out with the channels last, too."""
ATEN = "convolution"
"""PyTorch's operations that would do all of its work."""


def torch_modules(problem: Conv2d, parameters: Sequence[Float32]) -> list[Any]:
    """Its modules, holding copies of the parameters."""
    from torch import nn

    p = problem
    conv = filled(nn.Conv2d(p.channels, p.maps, p.mask, p.stride, p.padding), parameters)
    return [conv, *activated(p.activation), *pooled(p.pool)]


def onnx_nodes(graph: Any, problem: Conv2d, parameters: Sequence[Float32]) -> None:
    """Add its nodes to a graph of `rooftile.lab.peers.onnx`."""
    vertical, horizontal = problem.padding
    graph.node(
        "Conv", *parameters, kernel_shape=problem.mask, strides=problem.stride,
        pads=[vertical, horizontal, vertical, horizontal],
    )  # fmt: skip
    graph.activate(problem.activation)
    graph.pool(problem.pool)
