"""PyTorch's modules of what layers fuse, for the peers of several operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import ACTIVATIONS, Float32, Pool


def pooled(pool: Pool | None) -> list[Any]:
    """The modules of a pool that has no weights, and of its activation."""
    from torch import nn

    if pool is None:
        return []
    if pool.kind == "l2":
        made: Any = nn.LPPool2d(2.0, pool.window, pool.stride)
    else:
        kinds = {"max": nn.MaxPool2d, "average": nn.AvgPool2d}
        made = kinds[pool.kind](pool.window, pool.stride)
    return [made, *activated(pool.activation)]


def activated(name: str) -> list[Any]:
    """The module of an activation; none for the identity."""
    from torch import nn

    return [] if name == "none" else [getattr(nn, ACTIVATIONS[name].torch)()]


def filled(module: Any, parameters: Sequence[Float32]) -> Any:
    """A module with copies of weights and bias: a compiler may fold them, not change ours."""
    import torch

    module.weight.data, module.bias.data = (torch.tensor(p) for p in parameters)
    return module
