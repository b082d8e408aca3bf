"""An operator in the texts of kernels: macros of ``common/operator.h``, and the kernel language."""

from __future__ import annotations

import math
from typing import Any

from rooftile.ops.expression import Node
from rooftile.ops.operator import Operator
from rooftile.ops.problem import DTYPES, Dtype, numpy_dtype

TYPES = {
    "float32": "float", "float64": "double", "float16": "unsigned short",
    "bfloat16": "unsigned short", "int8": "signed char", "int16": "short", "int32": "int",
    "int64": "int64", "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned",
    "uint64": "uint64", "bool": "unsigned char",
}  # fmt: skip
"""Types of elements in memory, by dtype."""
_CARRIED = {**TYPES, **dict.fromkeys(("int8", "int16", "uint8", "uint16", "bool"), "int")}
"""Integers of up to 16 bits are selected, and never calculated with: in a register they may as
well be wider."""
_CORES = {"float16": "FLOAT16", "bfloat16": "BFLOAT16"}
_BITS = {"int64": "uint64", "uint64": "uint64"}
_IN_C = {
    "add": "plus({}, {})", "subtract": "minus({}, {})", "multiply": "times({}, {})",
    "divide": "({} / {})", "fmod": "({} % {})",
    "bitwise_and": "({} & {})", "bitwise_or": "({} | {})", "bitwise_xor": "({} ^ {})",
    "invert": "(~{})", "negative": "negative({})", "positive": "({})",
    "equal": "({} == {})", "not_equal": "({} != {})", "less": "({} < {})",
    "less_equal": "({} <= {})", "greater": "({} > {})", "greater_equal": "({} >= {})",
    "logical_and": "({} && {})", "logical_or": "({} || {})", "logical_not": "(!{})",
    "minimum": "least({}, {})", "maximum": "greatest({}, {})",
    "fmin": "least_number({}, {})", "fmax": "greatest_number({}, {})",
    "absolute": "magnitude({})", "sqrt": "root({})", "where": "({} ? {} : {})",
}  # fmt: skip
"""NumPy's functions in the words of ``common/operator.h``."""

CARRIED_BYTES = {dtype: max(4, numpy_dtype(dtype).itemsize) for dtype in DTYPES}
"""Bytes in which a GPU's kernel stores a carried value."""


def operator_macros(operator: Operator, dtype: Dtype) -> dict[str, int | str]:
    """The macros of ``common/operator.h``, for elements of a dtype."""
    carried, made = operator.carried(dtype), operator.result(dtype)
    return {
        "GIVEN": TYPES[dtype],
        "CARRIED": _CARRIED[carried],
        "RESULT": TYPES[made],
        "NARROW_GIVEN": int(dtype in _CORES),
        "NARROW_RESULT": int(made in _CORES),
        "LOGICAL_GIVEN": int(dtype == "bool"),
        "CORES": _CORES.get(dtype, "FLOAT16"),
        "REAL": int(carried.startswith("float")),
        "DOUBLES": int(carried == "float64"),
        "BITS": _BITS.get(carried, "unsigned"),
        "EXPRESSION": in_c(operator.tree, carried),
        "IDENTITY": number_in_c(operator.identity_in(carried), carried),
    }


def in_c(node: Node, carried: Dtype) -> str:
    """An expression in the words of ``common/operator.h``."""
    if node.function == "name":
        return node.text
    if node.function == "number":
        return number_in_c(_number(node, carried), carried)
    return _IN_C[node.function].format(*(in_c(part, carried) for part in node.parts))


def number_in_c(number: Any, dtype: Dtype) -> str:
    """A number of a dtype in C, with all of its bits."""
    if not dtype.startswith("float"):
        # The least integer has no literal: a minus sign is an operator.
        suffix = "u" if dtype.startswith("uint") else ""
        whole = int(number)
        return f"((CARRIED)({whole + 1} - 1))" if whole < 0 else f"((CARRIED){whole}{suffix})"
    value = float(number)
    if math.isfinite(value):
        return f"({value.hex()}{'f' if dtype == 'float32' else ''})"
    bits = {math.inf: "0x7f800000", -math.inf: "(int)0xff800000"}.get(value, "0x7fc00000")
    return f"((CARRIED)__int_as_float({bits}))"


def in_kernel_language(node: Node, carried: Dtype, a: str = "a", b: str = "b") -> str:
    """An expression in the kernel language of CPUs; ``a`` and ``b`` are texts of its operands."""
    if node.function == "name":
        return a if node.text == "a" else b
    if node.function == "number":
        return number_in_kernel_language(_number(node, carried), carried)
    parts = (in_kernel_language(part, carried, a, b) for part in node.parts)
    return f"np.{node.function}({', '.join(parts)})"


def number_in_kernel_language(number: Any, dtype: Dtype) -> str:
    """A number of a dtype in the kernel language, where all integers have 64 bits."""
    if dtype == "uint64":
        return f"np.uint64({int(number)})"
    if not dtype.startswith("float"):
        return str(int(number))
    value = float(number)
    if math.isfinite(value):
        return f"np.{dtype}({value!r})"
    word = "math.nan" if value != value else "math.inf" if value > 0 else "-math.inf"
    return f"np.{dtype}({word})"


def array_in_kernel_language(dtype: Dtype) -> str:
    """The dtype of a kernel's own array whose elements are of a dtype."""
    return "np.uint8" if dtype == "bool" else f"np.{dtype}"


def _number(node: Node, carried: Dtype) -> Any:
    of = numpy_dtype(carried)
    return of.type(float(node.text) if of.kind == "f" else int(node.text))


__all__ = [
    "CARRIED_BYTES",
    "TYPES",
    "array_in_kernel_language",
    "in_c",
    "in_kernel_language",
    "number_in_c",
    "number_in_kernel_language",
    "operator_macros",
]
