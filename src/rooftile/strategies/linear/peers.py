"""`linear` in other libraries: PyTorch's modules, ONNX nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import Float32, Linear
from rooftile.strategies.common.torch_layers import activated, filled


def torch_modules(problem: Linear, parameters: Sequence[Float32]) -> list[Any]:
    """Its modules, holding copies of the parameters."""
    from torch import nn

    linear = filled(nn.Linear(problem.inputs, problem.outputs), parameters)
    return [nn.Flatten(), linear, *activated(problem.activation)]


def onnx_nodes(graph: Any, problem: Linear, parameters: Sequence[Float32]) -> None:
    """Add its nodes to a graph of `rooftile.lab.measure.peers.onnx`."""
    graph.flatten()
    graph.node("Gemm", *parameters, transB=1)
    graph.activate(problem.activation)
