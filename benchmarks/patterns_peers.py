"""Other libraries on a GPU: PyTorch by the operations' own modules or as named here, and CuPy.

Each peer is a name, a call on tensors, and whether it can be captured into a graph.  CuPy works on
PyTorch's memory and stream.  A library that is not there is left out.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from patterns_cases import Case

from rooftile.lab.measure.peers.torch_module import torch_module
from rooftile.ops import Problem
from rooftile.ops.operator import SUM

Tensor = Any
Call = Callable[[], Any]
Peer = tuple[str, Call, bool]
_WAITS = ("histogram", "compact", "unique", "segmented_reduce", "scatter", "sort")
"""Operations whose calls of PyTorch wait for the GPU, or may: they are not captured."""


def peers(case: Case, problem: Problem, arrays: Sequence[Tensor]) -> Iterator[Peer]:
    """Everybody else who computes the problem."""
    count = len(problem.input_arrays)
    inputs, parameters = arrays[:count], [one.cpu().numpy() for one in arrays[count:]]
    captured = case.operation not in _WAITS
    try:
        module = torch_module(problem, parameters).to(arrays[0].device)
    except (AttributeError, IndexError):
        module = None
    if module is not None:
        module = module.to(getattr(torch, case.dtype)) if case.dtype != "float32" else module
        yield "torch eager", partial(module, *inputs), captured
        if case.ladder and case.compiled and arrays[0].is_cuda:
            compiled = torch.compile(module, dynamic=False)
            yield "torch compile", partial(compiled, *inputs), captured
    for name, call in _offered(_TORCH, "PyTorch", problem, arrays):
        yield name, call, False
    if arrays[0].is_cuda and importlib.util.find_spec("cupy") is not None:
        for name, call in _offered(_CUPY, "CuPy", problem, arrays):
            yield name, partial(_beside, call), False


def _offered(
    known: Mapping[str, Callable[..., Mapping[str, Call]]],
    library: str,
    problem: Problem,
    arrays: Sequence[Tensor],
) -> list[tuple[str, Call]]:
    """A library's calls; where it fails before them, one that says how."""
    if problem.operation not in known:
        return []
    try:
        return [*known[problem.operation](problem, *arrays).items()]
    except Exception as error:
        return [(library, partial(_failing, error))]


def _failing(error: Exception) -> None:
    raise error


def _beside(call: Call) -> Any:
    """A call of CuPy's on PyTorch's stream; what it gives as tensors."""
    import cupy

    with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
        made = call()
    outs = made if isinstance(made, tuple) else (made,)
    return tuple(torch.as_tensor(one, device="cuda") for one in outs)


def _cupy(tensor: Tensor) -> Any:
    """A tensor as CuPy's array, over the same memory."""
    import cupy

    # What PyTorch holds as bool has no other name there.
    return cupy.from_dlpack(tensor)


# PyTorch


def _torch_sort(problem: Any, x: Tensor, *with_it: Tensor) -> Mapping[str, Call]:
    if problem.gives == "values":
        return {"torch sort": lambda: torch.sort(x, dim=problem.axis).values}
    if problem.gives == "places":
        return {"torch argsort": lambda: torch.argsort(x, dim=problem.axis, stable=True)}

    def pairs() -> tuple[Tensor, Tensor]:
        values, places = torch.sort(x, dim=problem.axis, stable=True)
        return values, with_it[0][places]

    return {"torch sort": pairs}


def _torch_histogram(problem: Any, x: Tensor) -> Mapping[str, Call]:
    if problem.dtype != "float32":
        return {}
    low, high = problem.low, problem.high
    return {"torch histc": lambda: torch.histc(x, problem.bins, low, high)}


def _torch_unique(problem: Any, x: Tensor) -> Mapping[str, Call]:
    return {"torch unique": lambda: torch.unique(x)}


def _torch_product(problem: Any, *arrays: Tensor) -> Mapping[str, Call]:
    """Of COO, beside CSR, which is the operation's own module."""
    values, columns, offsets, x = arrays
    lengths = offsets.diff().long()
    places = torch.arange(problem.rows, device=x.device).repeat_interleave(lengths)
    index, size = torch.stack([places, columns.long()]), (problem.rows, problem.columns)
    coo = torch.sparse_coo_tensor(index, values, size, is_coalesced=True)
    return {"torch COO": lambda: coo @ x}


_TORCH: Mapping[str, Callable[..., Mapping[str, Call]]] = {
    "sort": _torch_sort,
    "histogram": _torch_histogram,
    "unique": _torch_unique,
    "spmv": _torch_product,
}

# CuPy


def _cupy_reduce(problem: Any, x: Tensor) -> Mapping[str, Call]:
    import cupy

    find, held = cupy.sum if problem.operator == SUM else cupy.max, _cupy(x)
    return {"CuPy": lambda: find(held, axis=problem.axes)}


def _cupy_argreduce(problem: Any, x: Tensor) -> Mapping[str, Call]:
    import cupy

    find = cupy.argmax if problem.operator == "max" else cupy.argmin
    held = _cupy(x)
    return {"CuPy": lambda: find(held, axis=problem.axis)}


def _cupy_scan(problem: Any, x: Tensor) -> Mapping[str, Call]:
    import cupy

    held = _cupy(x)
    return {"CuPy": lambda: cupy.cumsum(held, axis=problem.axis if held.ndim > 1 else None)}


def _cupy_sort(problem: Any, x: Tensor, *with_it: Tensor) -> Mapping[str, Call]:
    import cupy

    held = _cupy(x)
    if problem.gives == "values":
        return {"CuPy sort": lambda: cupy.sort(held, axis=problem.axis)}
    if problem.gives == "places":
        return {"CuPy argsort": lambda: cupy.argsort(held, axis=problem.axis)}
    return {}


def _cupy_histogram(problem: Any, x: Tensor) -> Mapping[str, Call]:
    import cupy

    held, ends = _cupy(x), (problem.low, problem.high)
    return {"CuPy": lambda: cupy.histogram(held, problem.bins, ends)[0]}


def _cupy_compact(problem: Any, x: Tensor, mask: Tensor) -> Mapping[str, Call]:
    held, kept = _cupy(x), _cupy(mask.view(torch.uint8)).view("?")
    return {"CuPy": lambda: held[kept]}


def _cupy_unique(problem: Any, x: Tensor) -> Mapping[str, Call]:
    import cupy

    held = _cupy(x)
    return {"CuPy unique": lambda: cupy.unique(held)}


def _cupy_spmv(problem: Any, *arrays: Tensor) -> Mapping[str, Call]:
    import cupyx.scipy.sparse
    from cupyx import cusparse

    values, columns, offsets, x = map(_cupy, arrays)
    size = problem.rows, problem.columns
    csr = cupyx.scipy.sparse.csr_matrix((values, columns, offsets), shape=size)
    csr.sum_duplicates()
    coo = csr.tocoo()
    coo.sum_duplicates()
    return {
        "CuPy CSR": lambda: cusparse.spmv(csr, x),
        "CuPy COO": lambda: cusparse.spmv(coo, x),
    }


def _cupy_spmm(problem: Any, *arrays: Tensor) -> Mapping[str, Call]:
    import cupyx.scipy.sparse

    values, columns, offsets, b = map(_cupy, arrays)
    size = problem.rows, problem.columns
    csr = cupyx.scipy.sparse.csr_matrix((values, columns, offsets), shape=size)
    csr.sum_duplicates()
    # cuSPARSE has columns side by side through CuPy: so they lie already.
    held = b.T.copy().T
    return {"CuPy CSR": lambda: csr @ held}


_CUPY: Mapping[str, Callable[..., Mapping[str, Call]]] = {
    "reduce": _cupy_reduce,
    "argreduce": _cupy_argreduce,
    "scan": _cupy_scan,
    "sort": _cupy_sort,
    "histogram": _cupy_histogram,
    "compact": _cupy_compact,
    "unique": _cupy_unique,
    "spmv": _cupy_spmv,
    "spmm": _cupy_spmm,
}
