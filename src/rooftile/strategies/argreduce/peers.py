"""`argreduce` in PyTorch and NumPy, which takes any of several equal elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.argreduce import Argreduce

ATEN = "argmax|argmin"


def torch_modules(problem: Argreduce, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that finds the place."""
    import torch

    find = torch.argmax if problem.operator == "max" else torch.argmin

    class Found(torch.nn.Module):  # type: ignore[misc]
        """The place of its input's extreme."""

        def forward(self, x: Any) -> Any:
            return find(x) if problem.axis is None else find(x, dim=problem.axis)

    return [Found()]


def numpy_function(problem: Argreduce, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """A function of NumPy's."""
    find = np.argmax if problem.operator == "max" else np.argmin
    return lambda x: np.asarray(find(x, axis=problem.axis))
