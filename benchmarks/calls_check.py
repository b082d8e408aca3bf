"""Are results of calls right?  A few items of each are held against the float64 reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from calls_cases import Case

from rooftile.lab.judge.arithmetic import errors_of, excuse, excuse_of_network
from rooftile.lab.judge.expected import Expected
from rooftile.ops import ERROR_MODELS, AnyArray, Chain, Conv2d, Problem, rounded
from rooftile.ops.patterns.matmul import Matmul

_FLOPS = 10**9
"""About so many FLOPs of the reference are spent on a case."""
_MOST_ITEMS = 8
_DIFFERENT = 61
"""Random images of a batch; they repeat.  It is a prime, so that a tile never holds equal ones."""

Take = Callable[[Any], Any]


class Check:
    """A case's arrays in the CPU's memory, and the verdict on results.

    ``arrays`` are inputs and parameters with few images, of which `whole` makes the batch.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        problem = case.problem
        batch = problem.batch_size or 1
        self._batched = not isinstance(problem, Matmul) and batch > 1
        given = problem.with_batch(min(batch, _DIFFERENT)) if self._batched else problem
        arrays = given.random(0)
        # What has 16 bits on the GPU is the same number for the reference.
        self.arrays = [rounded(a, case.precision) if case.narrow else a for a in arrays]
        smaller, own, self.take = some(problem, self.arrays)
        self._expected = Expected(smaller, *own)

    def whole(self, x: Any) -> Any:
        """The first input, of NumPy's or PyTorch's, for the whole batch."""
        batch = self._case.problem.batch_size
        if not self._batched or batch is None:
            return x
        return x[np.arange(batch) % len(x)]

    def why_wrong(self, made: AnyArray, theirs: bool) -> str | None:
        """Why a result of some items, as `take` takes them, is wrong; None where it is right.

        ``theirs``: PyTorch may round more often than the budget says (`excuse`).
        """
        case = self._case
        precision = case.torch_precision if theirs else case.precision
        model = errors_of(precision) if case.narrow else ERROR_MODELS[precision]
        result = np.ascontiguousarray(made, np.float32)
        verdict = self._expected.judge(result, model)
        # Who asks for less may be given float32's accuracy, and operands that are not rounded.
        if verdict.passed or self._expected.judge(result, "ieee").passed:
            return None
        of_network = isinstance(case.problem, Chain)
        told = excuse_of_network(verdict) if of_network else excuse(verdict, precision)
        if theirs and told is not None:
            return None
        worst = f", the worst {verdict.budget_fraction:.3g} times its budget"
        return f"wrong: {verdict.reason}{worst}"


def some(problem: Problem, arrays: Sequence[AnyArray]) -> tuple[Problem, list[AnyArray], Take]:
    """A part of a problem that is cheap to judge: it, its arrays, and what takes it of a result.

    Of the first input there may be fewer images, which repeat.  The part is spread over the whole:
    images and maps of a convolution, rows of a product.
    """
    x, *others = arrays
    if isinstance(problem, Matmul):
        rows = spread_over(problem.rows, _FLOPS // (2 * problem.inner * problem.columns))
        part: Problem = dataclasses.replace(problem, rows=len(rows))
        return part, [x[rows], *others], partial(_taken, rows=rows)
    batch = problem.batch_size or 1
    each = max(1, problem.flops // batch)
    rows = spread_over(batch, min(_MOST_ITEMS, _FLOPS // each))
    images = x[[row % len(x) for row in rows]]
    if not isinstance(problem, Conv2d):
        part = problem.with_batch(len(rows))
        return part, [images, *others], partial(_taken, rows=rows)
    maps = spread_over(problem.maps, _FLOPS * problem.maps // (each * len(rows)))
    part = dataclasses.replace(problem, batch=len(rows), maps=len(maps))
    own = [images, *(np.ascontiguousarray(one[maps]) for one in others)]
    return part, own, partial(_taken, rows=rows, maps=maps)


def spread_over(size: int, count: int) -> list[int]:
    """At least one and at most ``count`` indices below ``size``: first, last, and between."""
    count = max(1, min(size, count))
    return [int(i) for i in np.unique(np.linspace(0, size - 1, count).round().astype(int))]


def _taken(made: Any, rows: list[int], maps: list[int] | None = None) -> Any:
    part = made[rows]
    return part if maps is None else part[:, maps]
