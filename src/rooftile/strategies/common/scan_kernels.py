"""The base of the CPU's strategies of `scan`: kernels generated for an operator and a dtype.

The prefix before an element is two numbers, ``high`` and ``low``, of which the second is the
roundings' loss in a sum (Knuth, "The Art of Computer Programming", volume 2, 4.2.2); of other
operators it stays ZERO. Texts say ``low += lost_in(high, value)`` first and then ``high =
combined(high, value)``. They may also say IDENTITY, EXCLUSIVE (True or False), REVERSE, and the
functions ``first_of`` and ``step_of``, by which a line is walked in its order.
"""

from __future__ import annotations

from rooftile.devices import cpu
from rooftile.devices.cpu.native import last_kernels, source, values_of
from rooftile.ops.operator import SUM, Operator
from rooftile.ops.problem import Dtype
from rooftile.strategies.common.operators import in_kernel_language, number_in_kernel_language

_TEXT = """
def combined(a, b):
    return {expression}

def lost_in(high, value):
    return {lost}

def value_of(high, low):
    return {value}

def first_of(line, count, inner):
    at = line // inner * count * inner + line % inner
    return {first}

def step_of(inner):
    return {step}
"""
_LOST = """ZERO

def lost_of(high, value, after):
    taken = after - high
    return (high - (after - taken)) + (value - taken)

def lost_in(high, value):
    lost = lost_of(high, value, high + value)
    # Beyond an infinity nothing is lost.
    return np.where(lost == lost, lost, ZERO)"""


@last_kernels
def scanning(
    stem: str,
    text: str,
    operator: Operator,
    carried: Dtype,
    exclusive: bool,
    dtypes: tuple[Dtype, ...],
    reverse: bool = False,
) -> cpu.Spread:
    """The kernel of a text for arrays of these dtypes; numbers of 16 bits come as float32."""
    real = carried.startswith("float")
    compensated = operator == SUM and real
    functions = _TEXT.format(
        expression=in_kernel_language(operator.tree, carried),
        lost=_LOST if compensated else "ZERO",
        value="high + low" if compensated else "high",
        first="at + (count - 1) * inner" if reverse else "at",
        step="-inner" if reverse else "inner",
    )
    words = {
        "IDENTITY": number_in_kernel_language(operator.identity_in(carried), carried),
        "ZERO": f"np.{carried}(0.0)" if real else number_in_kernel_language(0, carried),
        "EXCLUSIVE": str(exclusive),
        "CARRIED": f"np.{carried}" if real or carried == "uint64" else "np.int64",
    }
    whole = functions + text
    for word, value in words.items():
        whole = whole.replace(word, value)
    return cpu.Spread(source(stem, whole), tuple(values_of(dtype) for dtype in dtypes))
