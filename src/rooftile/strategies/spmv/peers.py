"""`spmv` in PyTorch, for matrices in CSR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.spmv import Spmv


def torch_modules(problem: Spmv, parameters: Sequence[AnyArray]) -> list[Any]:
    """A module that multiplies a matrix over the arrays that it is given, without checking them."""
    import torch

    if problem.form != "csr" or problem.updated or problem.dtype == "float16":
        return []
    size = problem.rows, problem.columns

    class Product(torch.nn.Module):  # type: ignore[misc]
        """The product of a matrix in CSR with a vector."""

        def forward(self, values: Any, columns: Any, offsets: Any, x: Any) -> Any:
            checked = {"check_invariants": False}
            return torch.sparse_csr_tensor(offsets, columns, values, size, **checked) @ x

    return [Product()]
