"""`spmm` in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.sparse.spmm import Spmm


def torch_modules(problem: Spmm, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that multiplies a matrix over the arrays that it is given, without checking them."""
    import torch

    if problem.dtype == "float16":
        return []
    size = problem.rows, problem.columns

    class Product(torch.nn.Module):  # type: ignore[misc]
        """The product of a matrix in CSR with a dense one."""

        def forward(self, values: Any, columns: Any, offsets: Any, b: Any) -> Any:
            checked = {"check_invariants": False}
            return torch.sparse_csr_tensor(offsets, columns, values, size, **checked) @ b

    return [Product()]
