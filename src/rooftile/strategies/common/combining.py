"""Kernels of the CPU that are generated for an operator and a dtype."""

from __future__ import annotations

from collections.abc import Sequence

from rooftile.devices import cpu
from rooftile.devices.cpu.native import last_kernels, source, values_of
from rooftile.ops.operator import Operator
from rooftile.ops.problem import Dtype
from rooftile.strategies.common.operators import (
    array_in_kernel_language,
    in_kernel_language,
    number_in_kernel_language,
)

_COMBINED = """
def combined(a, b):
    return {expression}
"""


@last_kernels
def combining(
    stem: str, text: str, operator: Operator, dtypes: tuple[Dtype, ...], carried: Dtype
) -> cpu.Spread:
    """The kernel of a text in which ``combined(a, b)``, IDENTITY and CARRIED are the operator's.

    ``dtypes`` are the kernel's arrays'; numbers of 16 bits come as float32.
    """
    expression = in_kernel_language(operator.tree, carried)
    identity = number_in_kernel_language(operator.identity_in(carried), carried)
    text = text.replace("IDENTITY", identity).replace("CARRIED", array_in_kernel_language(carried))
    made = source(stem, _COMBINED.format(expression=expression) + text)
    return cpu.Spread(made, _held(dtypes))


def _held(dtypes: Sequence[str]) -> tuple[str, ...]:
    return tuple(values_of(dtype) for dtype in dtypes)
