"""Operators of reductions and scans: a C expression of `a` and `b`, and its identity.

One expression is the reference in NumPy, the CPU's kernel and the text of GPUs.

Source: PMPP, sections 10.1 and 11.1 (associative operators and their identities).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rooftile.errors import InputError, unknown
from rooftile.ops.expression import Node, parse
from rooftile.ops.problem import AnyArray, Dtype, numpy_dtype


@dataclass(frozen=True)
class Operator:
    """Combines two values: ``Operator("a > b ? a : b", identity=-math.inf)``.

    ``expression`` is C text of a and b; `rooftile.ops.expression` says what it may contain.
    ``identity`` takes part in no result: ``identity op x`` is x.  An infinity stands for the
    greatest or the least integer where values are integers.  A reduction of nothing is the
    identity.

    ``associative`` False: values are combined one after the other, ``((identity op x[0]) op x[1])
    op ...``, by the strategies that keep this order; the identity is then what they begin with, and
    any number.  ``commutative`` False: neighbours are combined, and never out of order.

    Raises `InputError` naming the argument.
    """

    expression: str
    identity: float
    associative: bool = True
    commutative: bool = True
    name: str = field(default="", compare=False)
    """The operator's name in sentences; empty for a caller's."""

    def __post_init__(self) -> None:
        self.tree  # noqa: B018 - parsed once, and refused here
        number = isinstance(self.identity, int | float | np.integer | np.floating)
        if not number or isinstance(self.identity, bool):
            raise InputError("identity", repr(self.identity), "a number")

    @classmethod
    def from_text(cls, text: str) -> Operator:
        """One that has a name, as the command line gives it."""
        return operator_of(text)

    @cached_property
    def tree(self) -> Node:
        """The expression as it was parsed."""
        return parse(self.expression)

    @property
    def ufunc(self) -> np.ufunc | None:
        """NumPy's own function, where the operator is one that has a name."""
        return _UFUNCS.get(self.expression)

    @property
    def selects(self) -> bool:
        """True if its result is always one of its two values, and so is never rounded."""
        return self.tree.selects

    def why_not(self, dtype: Dtype) -> str | None:
        """Why it does not combine values of a dtype; None when it does."""
        reason = self.tree.why_not(dtype)
        if reason is None and not _real(dtype) and math.isfinite(self.identity):
            whole, (least, most) = int(self.identity), limits(dtype)
            if whole != self.identity or not least <= whole <= most:
                return f"its identity {self.identity} is no {dtype}"
        elif reason is None and self.identity != self.identity and not _real(dtype):
            return "its identity is NaN"
        return reason

    def carried(self, dtype: Dtype) -> Dtype:
        """The dtype in which values of a dtype are combined: float32 for numbers of 16 bits, and 64
        bits for integers and bool unless they are selected."""
        return "float32" if dtype in ("float16", "bfloat16") else self.result(dtype)

    def result(self, dtype: Dtype) -> Dtype:
        """The dtype of results: that of the values where they are numbers of floating point, or are
        selected; else int64, and uint64 for uint64."""
        return dtype if _real(dtype) or self.selects or dtype == "uint64" else "int64"

    def identity_in(self, dtype: Dtype) -> Any:
        """The identity as a NumPy number of a dtype."""
        of = numpy_dtype(dtype)
        if math.isinf(self.identity) and not _real(dtype):
            least, most = limits(dtype)
            return of.type(most if self.identity > 0 else least)
        return of.type(self.identity)

    def combine(self, a: AnyArray, b: AnyArray) -> AnyArray:
        """``a op b``, element by element, of arrays of one dtype."""
        return np.asarray(self.tree.value(a, b))

    def __repr__(self) -> str:
        return self.name or f"Operator({self.expression!r}, identity={self.identity!r})"


def limits(dtype: Dtype) -> tuple[int, int]:
    """The least and the greatest value of an integer dtype or of bool."""
    if dtype == "bool":
        return 0, 1
    found = np.iinfo(numpy_dtype(dtype))
    return int(found.min), int(found.max)


def _real(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


SUM = Operator("a + b", 0, name="sum")
PRODUCT = Operator("a * b", 1, name="product")
MIN = Operator("min(a, b)", math.inf, name="min")
MAX = Operator("max(a, b)", -math.inf, name="max")

_UFUNCS: dict[str, np.ufunc] = {
    SUM.expression: np.add,
    PRODUCT.expression: np.multiply,
    MIN.expression: np.minimum,
    MAX.expression: np.maximum,
}
OPERATORS = {operator.name: operator for operator in (SUM, PRODUCT, MIN, MAX)}
"""The named operators."""


def operator_of(given: str | Operator) -> Operator:
    """An operator, or the one of a name.  Raises `InputError` naming ``operator``."""
    if isinstance(given, Operator):
        return given
    if not isinstance(given, str) or given not in OPERATORS:
        raise unknown("operator", given, OPERATORS, more=", or an Operator")
    return OPERATORS[given]
