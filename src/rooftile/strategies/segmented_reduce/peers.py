"""`segmented_reduce` in PyTorch, which has it for floating-point numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.operator import MAX, MIN, SUM
from rooftile.ops.patterns.segmented_reduce import SegmentedReduce

ATEN = "segment_reduce"
"""PyTorch's operation that would do all of its work."""
_NAMES = {SUM: "sum", MIN: "min", MAX: "max"}


def torch_modules(problem: SegmentedReduce, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that reduces segments, where PyTorch has one."""
    import torch

    if problem.operator not in _NAMES or not problem.dtype.startswith("float"):
        return []
    name, identity = _NAMES[problem.operator], float(problem.operator.identity)

    class Segments(torch.nn.Module):  # type: ignore[misc]
        """Its first input's segments, which the second divides."""

        def forward(self, x: Any, offsets: Any) -> Any:
            return torch.segment_reduce(x, name, offsets=offsets, initial=identity)

    return [Segments()]
