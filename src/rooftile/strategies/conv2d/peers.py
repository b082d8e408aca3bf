"""`conv2d` in other libraries: PyTorch's modules, ONNX nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rooftile.ops import Conv2d, Float32
from rooftile.strategies.common.torch_layers import activated, filled, pooled

CHANNELS_LAST = True
"""True if PyTorch lays its arrays out with the channels last, too."""
ATEN = "convolution"


def torch_modules(problem: Conv2d, parameters: Sequence[Float32]) -> list[Any]:
    """Its modules, holding copies of the parameters."""
    from torch import nn

    p = problem
    mode = "replicate" if p.ghosts == "replicate" else "zeros"
    padding, before = p.padding, []
    if p.padding_after is not None:
        (above, left), (below, right) = p.padding, p.after
        pad = nn.ReplicationPad2d if mode == "replicate" else nn.ZeroPad2d
        padding, before = (0, 0), [pad((left, right, above, below))]
    conv = nn.Conv2d(
        p.channels, p.maps, p.mask, p.stride, padding, p.dilation, p.groups, padding_mode=mode
    )
    made = [*before, filled(conv, parameters)]
    if p.ghosts == "interior":
        made.append(_interior(p))
    return [*made, *activated(p.activation), *pooled(p.pool)]


def _interior(problem: Conv2d) -> Any:
    """A module that clears the positions whose masks meet ghost cells."""
    import torch

    class Interior(torch.nn.Module):  # type: ignore[misc]
        """The convolution's results where its masks lie inside the image, and zeros."""

        def forward(self, z: Any) -> Any:
            kept = torch.zeros_like(z)
            rows, columns = problem.inside
            kept[:, :, rows, columns] = z[:, :, rows, columns]
            return kept

    return Interior()


def onnx_nodes(graph: Any, problem: Conv2d, parameters: Sequence[Float32]) -> None:
    """Add its nodes to a graph of `rooftile.lab.measure.peers.onnx`."""
    pads, ghosts = [*problem.padding, *problem.after], problem.ghosts
    if ghosts == "replicate":
        around = [0, 0, *problem.padding, 0, 0, *problem.after]
        graph.node("Pad", np.array(around, np.int64), mode="edge")
        pads = [0, 0, 0, 0]
    shape: dict[str, Any] = {"kernel_shape": problem.mask, "strides": problem.stride, "pads": pads}
    if problem.apart:
        shape |= {"group": problem.groups, "dilations": problem.dilation}
    graph.node("Conv", *parameters, **shape)
    if ghosts == "interior":
        kept = np.zeros((1, 1, *problem.conv_size), np.float32)
        kept[:, :, *problem.inside] = 1
        graph.node("Mul", kept)
    graph.activate(problem.activation)
    graph.pool(problem.pool)
