"""`compact` in PyTorch and NumPy, which give what is kept alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.patterns.compact import Compact

ATEN = "masked_select|index|nonzero"


def torch_modules(problem: Compact, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that selects."""
    import torch

    class Selected(torch.nn.Module):  # type: ignore[misc]
        """The elements of its first input that the second keeps."""

        def forward(self, x: Any, mask: Any) -> Any:
            return torch.masked_select(x, mask)

    return [Selected()]


def numpy_function(problem: Compact, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """NumPy's selection by a mask."""

    def selected(x: AnyArray, mask: AnyArray) -> AnyArray:
        return x[mask]

    return selected
