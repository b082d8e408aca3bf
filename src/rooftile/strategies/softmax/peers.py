"""`softmax` in other libraries: PyTorch's modules, ONNX nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import Float32, Softmax


def torch_modules(problem: Softmax, parameters: Sequence[Float32]) -> list[Any]:
    """Its modules."""
    from torch import nn

    return [nn.Softmax(dim=1)]


def onnx_nodes(graph: Any, problem: Softmax, parameters: Sequence[Float32]) -> None:
    """Add its nodes to a graph of `rooftile.lab.measure.peers.onnx`."""
    graph.node("Softmax", axis=1)
