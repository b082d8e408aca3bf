"""An operator in the texts of kernels: macros of ``common/operator.h``, and the kernel language."""

from __future__ import annotations

import math
from typing import Any

from rooftile.ops.expression import Node
from rooftile.ops.operator import Operator
from rooftile.ops.problem import Dtype, numpy_dtype

_TYPES = {
    "float32": "float", "float64": "double", "int32": "int", "int64": "int64",
    "uint8": "unsigned char", "float16": "unsigned short", "bfloat16": "unsigned short",
}  # fmt: skip
_CARRIED = {**_TYPES, "uint8": "int"}
"""Bytes are selected, and never calculated with: in a register they may as well be wider."""
_CORES = {"float16": "FLOAT16", "bfloat16": "BFLOAT16"}
_BITS = {"int32": "unsigned", "int64": "size_t"}
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

CARRIED_BYTES = {"float32": 4, "float64": 8, "int32": 4, "int64": 8, "uint8": 4}
"""What a GPU's kernel stores of a value that is carried."""


def operator_macros(operator: Operator, dtype: Dtype) -> dict[str, int | str]:
    """What ``common/operator.h`` is compiled with, for elements of a dtype."""
    carried, made = operator.carried(dtype), operator.result(dtype)
    return {
        "GIVEN": _TYPES[dtype],
        "CARRIED": _CARRIED[carried],
        "RESULT": _TYPES[made],
        "NARROW_GIVEN": int(dtype in _CORES),
        "NARROW_RESULT": int(made in _CORES),
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
    if numpy_dtype(dtype).kind in "iu":
        # The least integer has no literal: a minus sign is an operator.
        return f"((CARRIED)({int(number) + 1} - 1))" if number < 0 else f"((CARRIED){number})"
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
    if numpy_dtype(dtype).kind in "iu":
        return str(int(number))
    value = float(number)
    if math.isfinite(value):
        return f"np.{dtype}({value!r})"
    word = "math.nan" if value != value else "math.inf" if value > 0 else "-math.inf"
    return f"np.{dtype}({word})"


def _number(node: Node, carried: Dtype) -> Any:
    of = numpy_dtype(carried)
    return of.type(float(node.text) if of.kind == "f" else int(node.text))


__all__ = [
    "CARRIED_BYTES",
    "in_c",
    "in_kernel_language",
    "number_in_c",
    "number_in_kernel_language",
    "operator_macros",
]
