"""Words that are sorted instead of elements: unsigned integers in the elements' order.

Where values alone are asked for, a word is an element's key, as many bits long as the element.
Else it is a key of up to 32 bits above the 32 bits that move along: the element's place, or what
goes with it.

Kernels see words as integers of 64 bits.  ``key_from`` makes the key of an
element's bits, ``word_of`` its word, ``key_of`` a word's key, and ``value_of`` the bits of the
element whose key it was; ``goes_before`` compares two keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rooftile.ops import AnyArray
from rooftile.ops.patterns.sort import Sort

_BITS = {1: "uint8", 2: "uint16", 4: "int32", 8: "int64"}
"""The dtype that a kernel is told for elements of a number of bytes."""
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64", "bool")
_INFINITY = {
    "float32": 0x7F800000,
    "float16": 0x7C00,
    "bfloat16": 0x7F80,
    "float64": 0x7FF0000000000000,
}


@dataclass(frozen=True)
class Words:
    """The words of a problem."""

    problem: Sort

    @property
    def bits(self) -> int:
        """Bits of a key."""
        return 8 * self.problem.key_bytes

    @property
    def wide(self) -> bool:
        """True if values move along with the keys."""
        return self.problem.gives != "values"

    @property
    def shift(self) -> int:
        """Bits of a word below its key."""
        return 32 if self.wide else 0

    @cached_property
    def given(self) -> str:
        """The dtype of which a kernel sees elements."""
        return _BITS[self.problem.key_bytes]

    @cached_property
    def held(self) -> str:
        return "int64" if self.wide else self.given

    def viewed(self, array: AnyArray) -> AnyArray:
        """Elements as a kernel sees them, in a row."""
        return array.reshape(-1).view(_BITS[array.itemsize])

    @cached_property
    def text(self) -> str:
        """``word_of``, ``key_of`` and ``value_of`` in the kernel language."""
        # Of 64 bits, as signed integers have them.
        top, every = (-(1 << 63), -1) if self.bits == 64 else (1 << self.bits - 1, 2**self.bits - 1)
        made, back = "key_from(b)", self.problem.descending
        turned = f"key = key ^ {every}" if back else ""
        if self.wide:
            made = f"{made} << 32 | (along & 4294967295)"
        return f"""
def key_from(b):
{self._key(top, every)}
    return {"(k ^ -1)" if back else "k"} & {every}

def word_of(b, along):
    return {made}

def key_of(word):
    return (word >> {self.shift}) & {every}

def value_of(key):
    {turned}
    return {self._value(top, every)}

def goes_before(key, other):
    return {f"(key ^ {top}) < (other ^ {top})" if self.bits == 64 else "key < other"}
"""

    def _key(self, top: int, every: int) -> str:
        """Statements that make the key ``k`` of an element with the bits ``b``."""
        dtype, lines = self.problem.dtype, []
        if dtype == "bool":
            return "    k = np.where(b == 0, 0, 1)"
        if dtype not in _INFINITY:
            return "    k = b" if dtype in _UNSIGNED else f"    k = b ^ {top}"
        if self.problem.gives == "places":
            minus_zero = -top if self.given == "int32" else top
            lines.append(f"    b = np.where(b == {minus_zero}, 0, b)")
        # All bits of a negative number are turned round, and of another one the first.
        negative = "(b >> 63)" if self.bits >= 32 else f"-(b >> {self.bits - 1})"
        magnitude = (1 << self.bits - 1) - 1
        lines.append(f"    k = b ^ ({negative} | {top})")
        lines.append(f"    k = np.where((b & {magnitude}) > {_INFINITY[dtype]}, {every}, k)")
        return "\n".join(lines)

    def _value(self, top: int, every: int) -> str:
        """The bits of the element whose key is ``key``."""
        if self.problem.dtype not in _INFINITY:
            return "key" if self.problem.dtype in _UNSIGNED else f"key ^ {top}"
        positive = "key < 0" if self.bits == 64 else f"key >= {top}"
        return f"np.where({positive}, key ^ {top}, key ^ {every})"


def rows_of(problem: Sort, call: Callable[..., None]) -> Callable[..., None]:
    """``call(*inputs, *outputs)`` for adjacent lines: other lines are copied."""
    if problem.inner == 1:
        return call
    outer, inner = problem.lines // problem.inner, problem.inner
    inputs = len(problem.input_arrays)

    def turned(array: AnyArray) -> AnyArray:
        return array.reshape(outer, problem.count, inner).swapaxes(1, 2)

    def on_copies(*arrays: AnyArray) -> None:
        given = [np.ascontiguousarray(turned(array)) for array in arrays[:inputs]]
        made = [np.empty((outer, inner, problem.count), array.dtype) for array in arrays[inputs:]]
        call(*given, *made)
        for array, one in zip(arrays[inputs:], made, strict=True):
            turned(array)[...] = one

    return on_copies
