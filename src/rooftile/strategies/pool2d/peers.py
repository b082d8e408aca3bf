"""`pool2d` in other libraries: PyTorch's modules, ONNX nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import Float32, Pool2d
from rooftile.strategies.common.torch_layers import pooled

CHANNELS_LAST = True
"""Whether PyTorch lays its arrays out with the channels last, too."""


def torch_modules(problem: Pool2d, parameters: Sequence[Float32]) -> list[Any]:
    """Its modules."""
    return pooled(problem.pool)


def onnx_nodes(graph: Any, problem: Pool2d, parameters: Sequence[Float32]) -> None:
    """Add its nodes to a graph of `rooftile.lab.peers.onnx`."""
    graph.pool(problem.pool)
