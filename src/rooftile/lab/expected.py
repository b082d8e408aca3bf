"""What is expected of a result: the float64 reference, and how far from it an element may be.

The budget of an element is ``c * u * sqrt(K) * S``, see `rooftile.ops.precision`,
and what float32 adds besides: the rounding of the activation, gradual underflow,
and a floor of 2^-40 of the image's largest ``S``, so that an exact zero that a
transform computes in double precision passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import VerificationFailure
from rooftile.ops import (
    ERROR_MODELS,
    Conv2d,
    ErrorModel,
    Float32,
    Float64,
    Problem,
    check_precision,
    rounded,
)
from rooftile.ops.chain import layers_of

_CHUNK_BYTES = 64 * 2**20
"""Largest share of images, in float64, whose reference is computed at a time."""
_KEEP_BYTES = 512 * 2**20
"""Largest reference that is kept for the next strategy; larger ones are computed anew."""
_FLOOR = 2.0**-40
_UNDERFLOW = 2.0**-149
"""Spacing of float32's subnormal numbers: the error of a product that underflows."""
_ACTIVATION_ULPS = {"sigmoid": 4.0, "tanh": 4.0}
"""Roundings inside an activation; the others select, and round once."""


@dataclass(frozen=True)
class Verdict:
    """What the comparison with the reference found; errors are in the output's own units."""

    passed: bool
    reason: str = ""
    """Why it failed; empty when it passed."""
    max_abs: float = 0.0
    """Largest absolute error."""
    max_rel: float = 0.0
    """Largest absolute error, relative to the largest value of the reference of its image."""
    budget_fraction: float = 0.0
    """Worst error over its budget; above 1 the result is wrong."""
    index: tuple[int, ...] = ()
    """Where the worst element is, by budget."""
    got: float = math.nan
    expected: float = math.nan
    budget: float = 0.0
    wrong_elements: int = 0
    """How many elements are outside their budget."""
    not_finite: int = 0
    """How many of them are NaN or infinite and should not be, or the reverse."""

    def raise_if_wrong(self) -> None:
        """Raise `VerificationFailure` unless the verdict is that it passed."""
        if not self.passed:
            raise VerificationFailure(
                self.index, self.got, self.expected, self.budget, f"result ({self.reason})"
            )


class Expected:
    """The reference of a problem on given inputs, and the budget of each element.

    Computed in chunks of images; kept for the next call of `judge` where it is small.
    """

    def __init__(self, problem: Problem, x: Float32, *parameters: Float32) -> None:
        self._problem, self._x, self._parameters = problem.with_batch(len(x)), x, parameters
        self._of_rounded: dict[str, Expected] = {}

    def judge(self, out: NDArray[Any], precision: str | ErrorModel) -> Verdict:
        """Compare a result with the reference: shape and dtype, NaN and infinity, closeness.

        ``precision`` is one that rooftile knows, or the errors that another one admits.
        """
        if isinstance(precision, str):
            check_precision(precision)
            precision = ERROR_MODELS[precision]
        if precision.operands != "float32":
            expected = self._rounded(precision.operands)
            return expected.judge(out, replace(precision, operands="float32"))
        if type(out) is not np.ndarray:
            return Verdict(False, f"a {type(out).__name__} instead of a NumPy array on the CPU")
        shape = self._problem.output_shape
        if out.shape != shape:
            return Verdict(False, f"shape {out.shape} instead of {shape}")
        if out.dtype != np.float32:
            return Verdict(False, f"dtype {out.dtype} instead of float32")
        worst = Verdict(True)
        for first, reference, magnitude in self._chunks():
            part = out[first : first + len(reference)]
            verdict = _compare(self._problem, part, reference, magnitude, precision)
            worst = _worse(worst, verdict, first)
        return worst if worst.passed else replace(worst, reason=_describe(worst, out.size))

    def _rounded(self, operands: str) -> Expected:
        """What is expected of inputs and weights rounded to a precision's operands."""
        if operands not in self._of_rounded:
            names = [name for layer in layers_of(self._problem) for name in layer.parameter_shapes]
            parameters = (
                rounded(array, operands) if name == "weights" else array
                for name, array in zip(names, self._parameters, strict=True)
            )
            x = rounded(self._x, operands)
            self._of_rounded[operands] = Expected(self._problem, x, *parameters)
        return self._of_rounded[operands]

    def _chunks(self) -> Iterator[tuple[int, Float64, Float64]]:
        small = 16 * math.prod(self._problem.output_shape) <= _KEEP_BYTES
        return iter(self._kept) if small else self._compute()

    @cached_property
    def _kept(self) -> list[tuple[int, Float64, Float64]]:
        return list(self._compute())

    def _compute(self) -> Iterator[tuple[int, Float64, Float64]]:
        whole = math.prod(self._problem.input_shape) + math.prod(self._problem.output_shape)
        images = len(self._x)
        step = max(1, _CHUNK_BYTES * images // (8 * whole))
        # A result that is finite although infinite terms are behind it, which the activation or
        # the pool dropped, has the error of its finite terms.
        finite = [_finite(array) for array in self._parameters]
        for first in range(0, images, step):
            x = self._x[first : first + step]
            problem = self._problem.with_batch(len(x))
            with np.errstate(invalid="ignore", over="ignore"):
                reference = problem.reference(x, *self._parameters)
                yield first, reference, problem.magnitude(_finite(x), *finite)


def _compare(
    problem: Problem, out: Float32, reference: Float64, magnitude: Float64, model: ErrorModel
) -> Verdict:
    """The verdict on some images; the index counts from the first of them."""
    budget = _budget(problem, reference, magnitude, model)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(out - reference)
        # What float64 holds and float32 does not is an infinity.
        expected = reference.astype(np.float32)
    special = ~np.isfinite(expected)
    not_finite = special | ~np.isfinite(out)
    same = (out == expected) | (np.isnan(out) & np.isnan(expected))
    error = np.where(special, np.where(same, 0.0, np.inf), error)
    # A NaN or infinity in place of a number is infinitely wrong.
    error = np.where(np.isfinite(error), error, np.inf)
    fraction = error / budget
    where = np.unravel_index(int(fraction.argmax()), fraction.shape)
    wrong = int((fraction > 1).sum())
    images = tuple(range(1, error.ndim))
    largest = np.where(special, 0.0, np.abs(reference)).max(axis=images, initial=0.0)
    relative = error.max(axis=images) / np.maximum(largest, np.finfo(np.float64).tiny)
    return Verdict(
        passed=wrong == 0,
        max_abs=float(error.max()),
        max_rel=float(relative.max()),
        budget_fraction=float(fraction[where]),
        index=tuple(int(i) for i in where),
        got=float(out[where]),
        expected=float(reference[where]),
        budget=float(budget[where]),
        wrong_elements=wrong,
        not_finite=int((not_finite & ~same).sum()),
    )


def _budget(problem: Problem, reference: Float64, magnitude: Float64, model: ErrorModel) -> Float64:
    terms = _roundings(problem)
    images = tuple(range(1, magnitude.ndim))
    # What float64 does not hold has no budget.
    scale = np.where(np.isfinite(magnitude), magnitude, 0.0)
    largest = scale.max(axis=images, keepdims=True, initial=0.0)
    value = np.where(np.isfinite(reference), np.abs(reference), 0.0)
    if model.spreads and scale.ndim == 4:
        scale = scale.max(axis=(2, 3), keepdims=True)
    unit, smallest = model.rounding
    roundings = _ACTIVATION_ULPS.get(getattr(problem, "activation", "none"), 1.0)
    budget: Float64 = (
        model.factor * model.unit * math.sqrt(terms) * scale
        + roundings * model.unit * value
        + unit * np.maximum(value, smallest)
        + _FLOOR * largest
        + model.factor * terms * _UNDERFLOW
    )
    return budget


def _finite(array: Float32) -> Float32:
    """The array with zeros for what is infinite or NaN."""
    return np.where(np.isfinite(array), array, np.float32(0))


def _roundings(problem: Problem) -> int:
    """Terms of the sum behind one output, those of a fused average included."""
    if isinstance(problem, Conv2d) and problem.pool and problem.pool.kind == "average":
        return problem.reduction + math.prod(problem.pool.window)
    return problem.reduction


def _describe(verdict: Verdict, size: int) -> str:
    """NaN and infinity first: what is not finite, or should not be, is not merely inexact."""
    if verdict.not_finite:
        what = "NaN, infinite, or not written" if math.isfinite(verdict.expected) else "finite"
        return f"{verdict.not_finite} of {size} elements are {what}, and should not be"
    return f"{verdict.wrong_elements} of {size} elements outside the budget"


def _worse(a: Verdict, b: Verdict, first: int) -> Verdict:
    """The verdict on two chunks, the second starting at image ``first``."""
    b = replace(b, index=(b.index[0] + first, *b.index[1:]))
    worst = b if not a.index or b.budget_fraction > a.budget_fraction else a
    return replace(
        worst,
        passed=a.passed and b.passed,
        max_abs=max(a.max_abs, b.max_abs),
        max_rel=max(a.max_rel, b.max_rel),
        wrong_elements=a.wrong_elements + b.wrong_elements,
        not_finite=a.not_finite + b.not_finite,
    )
