"""Are the errors of a right result those of the precision that it claims?

A budget bounds each error by the magnitude ``S`` of all terms.  For a sum of ``K`` ordinary terms
it grows as ``K^1.5``, and the errors as ``K`` at most: beyond some thousand terms operands of 11
bits are within it, and beyond some million a part of the sum may be left out.  So ordinary contents
are judged more closely, by two tests.

*The size of the errors* (`too_large`).  Terms whose order is random have partial sums of at most
about ``|r| + 4 L``, with the result ``r`` and the root ``L`` of the sum of the terms' squares.  An
error is then at most ``c u sqrt(K) (|r| + 4 L)``: N. J. Higham, *Accuracy and Stability of
Numerical Algorithms*, section 4.2, bounds it by partial sums, which magnitudes only bound in turn.
Summed one after the other, in float32, errors are of the size ``0.3 u sqrt(K) L``; their mean size
must be at most ``c u sqrt(K) (|r| + L)``.

*Their direction* (`rounded_operands`).  Operands that were rounded to fewer bits leave the errors
``d = R(rounded) - R``, with the reference ``R``, up to those of the sum.  The slope of the errors
over ``d`` is one then, and about zero for anything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rooftile.lab.audit.checks.rounding import CLAIMS, ROUNDINGS
from rooftile.lab.audit.process.session import Arrays
from rooftile.ops import AnyArray, Array, ErrorModel, Float32, Problem
from rooftile.ops.judgement import Budget
from rooftile.ops.operator import SUM
from rooftile.ops.problem import outputs_of

_SUMS = (
    "conv1d", "conv2d", "conv3d", "linear", "matmul", "matvec", "reduce", "separable", "spmv",
    "spmm", "conv2d_input_gradient", "conv2d_weights_gradient", "linear_gradient",
)  # fmt: skip
"""Operations whose results are sums of products: the magnitude of squared arrays is the sum of the
terms' squares."""
_UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
"""The unit roundoffs of narrow results."""
_PARTIAL, _SHORT = 4.0, 8.0
"""How many times ``L`` partial sums may reach; roundings besides those of the sum."""
_SLOPE, _LOWER_SLOPE, _DEVIATIONS = 0.1, 0.5, 6.0
"""A slope that is rounding's is at least this, or the second where the claim itself admits rounded
operands, whose errors follow coarser ones a little; and so many standard deviations above zero."""
_LEAST = 8
"""Elements from which on a slope tells."""


def too_large(problem: Problem, outs: Arrays, arrays: Arrays, model: ErrorModel) -> str:
    """The evidence that errors are larger than those of a sum of ordinary terms; empty without."""
    if problem.operation not in _SUMS or getattr(problem, "operator", SUM) != SUM or model.spreads:
        return ""
    found = list(_errors(problem, outs, arrays, model))
    squares = tuple(array.astype(np.float64) ** 2 for array in arrays)
    sizes = outputs_of(problem.magnitude(*squares)) if found else ()
    for one, square in zip(found, sizes, strict=False):
        value, size = np.abs(one.reference), np.sqrt(np.asarray(square))
        rest = _SHORT * max(model.unit, _UNITS.get(one.output.dtype, 0.0)) * (value + size)
        each = model.factor * model.unit * math.sqrt(one.judgement.terms)
        # An error much above this is a few elements'; one of the mean size above less, of all.
        most = float((np.abs(one.error) / (each * (value + _PARTIAL * size) + rest)).max())
        mean = _root(one.error) / _root(each * (value + size) + rest)
        if max(most, mean if one.error.size >= _LEAST else 0.0) > 1:
            return (
                f"the largest error is {most:.3g} times, their size {mean:.3g} times what sums of "
                f"{one.judgement.terms} such terms have at {model.unit:.2g}"
            )
    return ""


def rounded_operands(
    problem: Problem, outs: Arrays, arrays: Arrays, claim: str, only: Sequence[str] = ()
) -> str:
    """The evidence that errors are those of operands with fewer bits than claimed; empty without.

    ``only``: the roundings of `roundings` that are looked for; all of them by default.
    """
    model = CLAIMS[claim]
    found = list(_errors(problem, outs, arrays, model))
    least = _SLOPE if model.unit <= CLAIMS["ieee"].unit else _LOWER_SLOPE
    for name, rounding in roundings(claim).items() if found else ():
        if only and name not in only:
            continue
        given = tuple(
            rounding(array) if place.dtype == "float32" and place.operand else array
            for place, array in zip(problem.given_arrays, arrays, strict=True)
        )
        lowered = [np.asarray(one) for one in outputs_of(problem.reference(*given))]
        errors = np.concatenate([one.error.reshape(-1) for one in found])
        towards = np.concatenate(
            [
                (other - one.reference).reshape(-1)
                for other, one in zip(lowered, found, strict=False)
            ]
        )
        slope, deviation = _slope(errors, towards)
        if slope > max(least, _DEVIATIONS * deviation):
            return (
                f"claimed is {claim}; its errors follow those of operands rounded to {name}, with "
                f"the slope {slope:.2f} +- {deviation:.2g}"
            )
    return ""


def roundings(claim: str) -> dict[str, Callable[[Float32], Float32]]:
    """How operands may have been rounded to fewer bits than a claim admits, by name."""
    unit = CLAIMS[claim].unit
    return {
        name: made
        for name, made in ROUNDINGS.items()
        # float16 rounds as TF32 does, but for numbers out of its range.
        if name != "tf32" and CLAIMS[name.partition(",")[0]].unit > unit
    }


@dataclass(frozen=True)
class _Errors:
    """The errors of an output that has a budget."""

    output: Array
    judgement: Budget
    error: NDArray[np.float64]
    reference: NDArray[np.float64]


def _errors(problem: Problem, outs: Arrays, arrays: Arrays, model: ErrorModel) -> Iterator[_Errors]:
    """The errors of all outputs, up to the first that has no budget or is not finite."""
    if not any(place.dtype == "float32" for place in problem.given_arrays):
        return
    references = outputs_of(problem.reference(*arrays))
    for output, out, reference in zip(problem.output_arrays, outs, references, strict=True):
        judgement = problem.judgement(output, model)
        with np.errstate(invalid="ignore"):
            error = out.astype(np.float64) - reference
        if not isinstance(judgement, Budget) or not np.isfinite(error).all():
            return
        yield _Errors(output, judgement, error, np.asarray(reference))


def _root(values: NDArray[np.float64]) -> float:
    """The root of the mean square."""
    return math.sqrt(float(np.mean(values**2)))


def _slope(errors: AnyArray, towards: AnyArray) -> tuple[float, float]:
    """The slope of a line through nought, and its standard deviation."""
    there = np.isfinite(towards) & (towards != 0)
    errors, towards = errors[there], towards[there]
    if errors.size < _LEAST:
        return 0.0, math.inf
    square = float(towards @ towards)
    slope = float(errors @ towards) / square
    rest = errors - slope * towards
    return slope, math.sqrt(float(rest @ rest) / (square * (errors.size - 1)))
