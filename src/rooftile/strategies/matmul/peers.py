"""`matmul` in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.matmul import Matmul


def torch_modules(problem: Matmul, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that multiplies its two inputs, read as they lie."""
    import torch

    class Product(torch.nn.Module):  # type: ignore[misc]
        """The product of its inputs."""

        def forward(self, a: Any, b: Any) -> Any:
            left = a.t() if problem.transpose_a else a
            return left @ (b.t() if problem.transpose_b else b)

    return [Product()]
