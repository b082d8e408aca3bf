"""`spmv` in PyTorch and in SciPy, for matrices in CSR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rooftile.ops import AnyArray
from rooftile.ops.sparse.spmv import Spmv


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


def scipy_function(problem: Spmv, parameters: Sequence[AnyArray]) -> Callable[..., AnyArray]:
    """A product of ``scipy.sparse.csr_array``, on one thread; the matrix is made around the arrays
    in each call, which copies none of them.  Raises `NotImplementedError` for other formats."""
    import scipy.sparse

    if problem.form != "csr" or problem.updated or problem.dtype == "float16":
        raise NotImplementedError("it is for CSR of float32 and float64, without an update")
    size = problem.rows, problem.columns

    def product(values: AnyArray, columns: AnyArray, offsets: AnyArray, x: AnyArray) -> AnyArray:
        made: AnyArray = scipy.sparse.csr_array((values, columns, offsets), shape=size) @ x
        return made

    return product
