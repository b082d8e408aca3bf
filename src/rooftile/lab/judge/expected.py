"""The expected result: the reference, and the budget of each element.

A problem states the judgement of each output (`rooftile.ops.judgement`). The budget of an element
is ``c * u * sqrt(K) * S``, see `rooftile.ops.precision`, plus what float32 adds: the rounding of
the activation and gradual underflow. It has a floor of 2^-40 of the item's largest ``S``, so that
an exact zero that a transform computes in double precision passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rooftile.lab.judge.compare import compare
from rooftile.lab.judge.verdict import Verdict, worse
from rooftile.ops import (
    ERROR_MODELS,
    AnyArray,
    Array,
    ErrorModel,
    Problem,
    check_precision,
    rounded,
)
from rooftile.ops.judgement import Budget, Normwise
from rooftile.ops.problem import outputs_of

CHUNK_BYTES = 64 * 2**20
"""Bytes, in float64, of the largest share of a batch whose reference is computed at a time."""
KEEP_BYTES = 512 * 2**20
"""Bytes of the largest reference that is kept for the next strategy; others are computed anew."""


@dataclass(frozen=True)
class _Chunk:
    """Some items with what is expected of them."""

    first: int
    count: int | None
    """None where there is no batch."""
    given: tuple[AnyArray, ...]
    references: tuple[AnyArray, ...]
    """The reference of each output."""
    magnitudes: tuple[AnyArray | None, ...]
    """The magnitudes of the terms behind each output; None where no budget needs them."""

    def of(self, out: AnyArray) -> AnyArray:
        """The part of an output that belongs to these items."""
        return out if self.count is None else out[self.first : self.first + self.count]


class Expected:
    """The reference of a problem on given inputs, and the budget of each element.

    It is computed in chunks of items, and kept for the next call of `judge` where it is small.
    """

    def __init__(self, problem: Problem, *arrays: AnyArray) -> None:
        """``arrays`` are inputs and parameters; of a batch there may be fewer items."""
        self._items = problem.items_in(arrays)
        self._problem = problem if self._items is None else problem.with_batch(self._items)
        self._arrays = arrays
        self._of_rounded: dict[str, Expected] = {}

    def judge(self, out: Any, precision: str | ErrorModel) -> Verdict:
        """Compare a result with the reference: shape and dtype, NaN and infinity, closeness.
        ``out`` is the output, or a tuple of them. ``precision`` is one that rooftile knows, or the
        errors that another one admits."""
        if isinstance(precision, str):
            check_precision(precision)
            precision = ERROR_MODELS[precision]
        outputs = self._problem.output_arrays
        judgements = [self._problem.judgement(output, precision) for output in outputs]
        by_norm = any(isinstance(judgement, Normwise) for judgement in judgements)
        if precision.operands != "float32" and not by_norm:
            expected = self._rounded(precision.operands)
            return expected.judge(out, replace(precision, operands="float32"))
        outs = outputs_of(out)
        for output, made in zip(outputs, outs, strict=True):
            reason = _malformed(output, made)
            if reason:
                return Verdict(False, reason)
        worst: Verdict | None = None
        for chunk in self._chunks():
            parts = [chunk.of(out) for out in outs]
            for i, output in enumerate(outputs):
                verdict = compare(
                    output,
                    judgements[i],
                    parts[i],
                    chunk.references[i],
                    chunk.magnitudes[i],
                    precision,
                    (*parts, *chunk.given),
                )
                worst = verdict if worst is None else worse(worst, verdict, chunk.first)
        size = sum(output.size for output in outputs)
        if worst is None or worst.passed:
            return worst or Verdict(True)
        return replace(worst, reason=worst.describe(size))

    def _rounded(self, operands: str) -> Expected:
        """The expected result of arrays rounded to a precision's operands."""
        if operands not in self._of_rounded:
            arrays = as_operands(self._problem, self._arrays, operands)
            self._of_rounded[operands] = Expected(self._problem, *arrays)
        return self._of_rounded[operands]

    def _chunks(self) -> Iterator[_Chunk]:
        held = 16 * sum(output.size for output in self._problem.output_arrays)
        return iter(self._kept) if held <= KEEP_BYTES else self._compute()

    @cached_property
    def _kept(self) -> list[_Chunk]:
        return list(self._compute())

    def _compute(self) -> Iterator[_Chunk]:
        problem, items = self._problem, self._items
        if items is None:
            yield _chunk(problem, 0, None, self._arrays)
            return
        whole = sum(array.size for array in problem.arrays if array.batched)
        step = max(1, CHUNK_BYTES * items // (8 * whole))
        for first in range(0, items, step):
            count = min(step, items - first)
            arrays = tuple(
                array[first : first + count] if place.batched else array
                for place, array in zip(problem.given_arrays, self._arrays, strict=True)
            )
            yield _chunk(problem.with_batch(count), first, count, arrays)


def _chunk(problem: Problem, first: int, count: int | None, arrays: tuple[AnyArray, ...]) -> _Chunk:
    """References and magnitudes of all outputs."""
    outputs = problem.output_arrays
    judgements = (problem.judgement(output, ERROR_MODELS["ieee"]) for output in outputs)
    magnitudes: tuple[AnyArray | None, ...] = tuple(None for _ in outputs)
    with np.errstate(invalid="ignore", over="ignore"):
        references = tuple(np.asarray(one) for one in outputs_of(problem.reference(*arrays)))
        if any(isinstance(judgement, Budget) for judgement in judgements):
            # The activation or the pool may drop infinite terms.  A result that is finite then has
            # the error of its finite terms.
            finite = [_finite(array) for array in arrays]
            magnitudes = tuple(np.asarray(one) for one in outputs_of(problem.magnitude(*finite)))
    return _Chunk(first, count, arrays, references, magnitudes)


def as_operands(
    problem: Problem, arrays: Sequence[AnyArray], operands: str
) -> tuple[AnyArray, ...]:
    """Inputs and parameters, of which those that are multiplied are rounded to a precision's
    operands."""
    return tuple(
        rounded(array, operands) if place.operand and place.dtype == "float32" else array
        for place, array in zip(problem.given_arrays, arrays, strict=True)
    )


def _finite(array: AnyArray) -> AnyArray:
    """The array with zeros for what is infinite or NaN."""
    if array.dtype.kind not in "fV":
        return array
    return np.where(np.isfinite(array), array, array.dtype.type(0))


def _malformed(output: Array, made: Any) -> str:
    """Why it cannot be the output; empty where it can."""
    if type(made) is not np.ndarray:
        return f"a {type(made).__name__} instead of a NumPy array on the CPU"
    if made.shape != output.shape:
        return f"shape {made.shape} instead of {output.shape}"
    if made.dtype != output.numpy:
        return f"dtype {made.dtype} instead of {output.dtype}"
    return ""


__all__ = ["Expected", "Verdict", "as_operands"]
