"""References and inputs of problems whose elements an operator combines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.judgement import Budget, Exact, Judgement
from rooftile.ops.operator import MAX, MIN, PRODUCT, SUM, Operator, limits
from rooftile.ops.problem import DTYPES, AnyArray, Array, Dtype

_NUMPY: dict[Operator, Any] = {
    SUM: np.add,
    PRODUCT: np.multiply,
    MIN: np.minimum,
    MAX: np.maximum,
}
"""NumPy's own functions of the operators that have a name."""


def check(operator: Operator, dtype: Dtype) -> None:
    """Raise `InputError` for a dtype that there is not, or that the operator does not combine."""
    if dtype not in DTYPES:
        raise InputError("dtype", dtype, f"one of {list(DTYPES)}")
    reason = operator.why_not(dtype)
    if reason is not None:
        raise InputError("operator", repr(operator), f"one of {dtype}: {reason}")


def wide(operator: Operator, dtype: Dtype, x: AnyArray) -> AnyArray:
    """Elements in what a reference is computed in."""
    carried = operator.carried(dtype)
    if not carried.startswith("float"):
        return x.astype(carried)
    if operator.selects:
        return x.astype(carried)
    return x.astype(np.longdouble if dtype == "float64" else np.float64)


def scanned(operator: Operator, x: AnyArray) -> AnyArray:
    """The inclusive scan along the first axis."""
    if operator in _NUMPY:
        return np.asarray(_NUMPY[operator].accumulate(x, axis=0, dtype=x.dtype))
    if not operator.associative:
        made = np.empty_like(x)
        of: Any = x.dtype.name
        first = operator.identity if x.dtype.kind in "fV" else operator.identity_in(of)
        before = np.full(x.shape[1:], first, x.dtype)
        for i, one in enumerate(x):
            made[i] = before = operator.combine(before, one)
        return made
    # Kogge and Stone's passes: few calls of NumPy, however long a line is.
    made, reach = x.copy(), 1
    while reach < len(x):
        made[reach:] = operator.combine(made[:-reach].copy(), made[reach:])
        reach *= 2
    return made


def magnitude(
    operator: Operator, reference: Callable[[AnyArray], AnyArray], x: AnyArray
) -> AnyArray:
    """The operator's result of the magnitudes, and at least the magnitude of the result."""
    if operator == PRODUCT:
        return np.abs(reference(x))
    of_magnitudes = np.abs(reference(np.abs(x)))
    if operator == SUM:
        return of_magnitudes
    return np.maximum(of_magnitudes, np.abs(reference(x)))


def judgement(operator: Operator, output: Array, terms: int) -> Judgement:
    """Exactly, where nothing is rounded; else by the budget of ``terms`` terms.

    Roundings of a sum are as often up as down. Roundings of a product near 1 are not, and an
    operator of the caller may have any: there all of them may add up, and the square of their
    number counts under the root (Higham, "Accuracy and Stability of Numerical Algorithms", lemma
    3.1).
    """
    if operator.selects or output.numpy.kind in "iub":
        return Exact()
    return Budget(terms if operator == SUM else terms**2)


def tame(operator: Operator, count: int, given: tuple[AnyArray, ...]) -> tuple[AnyArray, ...]:
    """Numbers, the first array, so close to 1 that a product of ``count`` of them stays finite."""
    x, *others = given
    if operator != PRODUCT or x.dtype.kind not in "fV":
        return given
    apart = x.astype(np.float64) / math.sqrt(count)
    return (np.where(np.abs(apart) < 1, 1 + apart / 2, 1).astype(x.dtype), *others)


def hard(
    operator: Operator, kinds: Mapping[str, tuple[AnyArray, ...]], tamed: tuple[AnyArray, ...]
) -> Mapping[str, tuple[AnyArray, ...]]:
    """Inputs of ``kinds`` whose results do not depend on the order of combinations.

    A product of very large and very small numbers does, and so may infinities, for an operator of
    the caller. Equal factors are -1, whose powers stay in range. ``tamed`` are ordinary inputs.
    """
    x, *others = tamed
    if operator not in _NUMPY:
        return {kind: given for kind, given in kinds.items() if kind in ("ties", "NaN")}
    if operator != PRODUCT or x.dtype.kind not in "fV":
        return kinds
    found = kinds["infinities"][0]
    infinite = np.isinf(found.astype(np.float32))
    special = np.where(infinite, found, x).astype(x.dtype)
    return {"ties": (np.full_like(x, -1), *others), "infinities": (special, *others)}


def other(operator: Operator, value: Any) -> Any:
    """A value in place of another that changes the result of whatever it is combined with."""
    of = value.dtype
    real = of.kind in "fV"
    if not operator.selects:
        if of.kind == "b":
            return ~value
        return of.type(float(value) + 4) if real else of.type(int(value) ^ 4)
    if real:
        most = float(np.finfo(np.float16).max)
        return of.type(-most if operator == MIN else most)
    return of.type(limits(of.name)[int(operator != MIN)])
