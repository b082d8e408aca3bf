"""What the problems of the patterns are given: tensors that PyTorch makes where they are used.

Sparse matrices come from the problems themselves (`patterns_sparse`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from patterns_calls import BOUNDS
from patterns_cases import Case

from rooftile.ops import Array, Problem

Tensor = Any
Made = Callable[[Case, Any, torch.Generator], list[Tensor]]


def made(case: Case, problem: Problem, place: str) -> list[Tensor]:
    """Arrays for the problem of a case, or for a smaller one, on a device of PyTorch's."""
    generator = torch.Generator(place).manual_seed(0)
    special = _SPECIAL.get(case.operation)
    if special is not None:
        return special(case, problem, generator)
    return [_ordinary(case, problem, array, generator) for array in problem.given_arrays]


def _ordinary(case: Case, problem: Problem, array: Array, generator: torch.Generator) -> Tensor:
    """Normal numbers, any bytes, indices within bounds."""
    if array.dtype in ("float32", "float16", "bfloat16", "float64"):
        name = case.dtype if array.dtype == "float32" else array.dtype
        return _normal(array.shape, generator).to(getattr(torch, name))
    bound = BOUNDS.get(case.operation, lambda problem: 256)(problem)
    return _below(bound, array.shape, generator, getattr(torch, array.dtype))


def _normal(shape: Any, generator: torch.Generator) -> Tensor:
    return torch.randn(shape, generator=generator, device=generator.device)


def _below(bound: int, shape: Any, generator: torch.Generator, dtype: Any) -> Tensor:
    return torch.randint(0, bound, shape, generator=generator, device=generator.device, dtype=dtype)


def _sorted(case: Case, problem: Any, generator: torch.Generator) -> list[Tensor]:
    """Keys of all values, and numbers that go with them."""
    if problem.dtype == "float32":
        keys = _normal(problem.shape, generator)
    else:
        keys = _below(2**31 - 1, problem.shape, generator, torch.int32)
        keys -= 2**30
    if problem.gives != "pairs":
        return [keys]
    with_it = torch.arange(keys.numel(), dtype=torch.int32, device=generator.device)
    return [keys, with_it.reshape(problem.shape)]


def _counted(case: Case, problem: Any, generator: torch.Generator) -> list[Tensor]:
    """Bytes, or numbers between the first and the last edge."""
    shape, place = (problem.count,), generator.device
    if case.values == "equal":
        return [torch.full(shape, 7, dtype=torch.uint8, device=place)]
    if problem.dtype != "uint8":
        return [torch.rand(shape, generator=generator, device=place)]
    x = _below(256, shape, generator, torch.uint8)
    if case.values == "skewed":
        few = torch.rand(shape, generator=generator, device=place) < 0.5
        x[few] = 100 + x[few] % 3
    return [x]


def _kept(case: Case, problem: Any, generator: torch.Generator) -> list[Tensor]:
    x = _normal((problem.count,), generator)
    share = torch.rand(x.shape, generator=generator, device=generator.device)
    return [x, share < problem.share]


def _in_segments(case: Case, problem: Any, generator: torch.Generator) -> list[Tensor]:
    """Ends anywhere, so that segments have all lengths, and some have none."""
    x = _normal((problem.count,), generator)
    kind = getattr(torch, problem.arrays[1].dtype)
    ends = _below(problem.count + 1, (problem.segments - 1,), generator, kind).sort().values
    first, last = (torch.tensor([end], dtype=kind, device=x.device) for end in (0, problem.count))
    return [x, torch.cat([first, ends, last])]


def _repeated(case: Case, problem: Any, generator: torch.Generator) -> list[Tensor]:
    """Every number some sixteen times, in any order."""
    x = _below(max(1, problem.count // 16), (problem.count,), generator, torch.int32)
    return [x.to(getattr(torch, problem.dtype))]


def _scattered(case: Case, problem: Any, generator: torch.Generator) -> list[Tensor]:
    x, index, *values = problem.arrays[:-1]
    places = _below(problem.places, index.shape, generator, getattr(torch, index.dtype))
    kinds = [getattr(torch, array.dtype) for array in (x, *values)]
    numbers = [
        _below(1000, array.shape, generator, torch.int32).to(kind)
        for array, kind in zip((x, *values), kinds, strict=True)
    ]
    return [numbers[0], places, *numbers[1:]]


_SPECIAL: Mapping[str, Made] = {
    "sort": _sorted,
    "histogram": _counted,
    "compact": _kept,
    "segmented_reduce": _in_segments,
    "segmented_scan": _in_segments,
    "unique": _repeated,
    "scatter": _scattered,
}
