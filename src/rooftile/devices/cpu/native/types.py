"""Values of the kernel language: their types, and how the elements of arrays lie in memory."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Kind = Literal["integer", "unsigned", "bool", "float", "vector", "mask", "array", "none"]


@dataclass(frozen=True)
class Type:
    """A type of the language; ``llvm`` is how LLVM writes it, that of an array its element's."""

    name: str
    kind: Kind
    llvm: str

    @property
    def scalar(self) -> bool:
        return self.kind in ("integer", "unsigned", "bool", "float")


INTEGER = Type("int64", "integer", "i64")
UNSIGNED = Type("uint32", "unsigned", "i32")
UNSIGNED_LONG = Type("uint64", "unsigned", "i64")
BOOL = Type("bool", "bool", "i1")
FLOAT = Type("float32", "float", "float")
DOUBLE = Type("float64", "float", "double")
NONE = Type("none", "none", "void")


def vector_type(lanes: int) -> Type:
    """A vector of ``lanes`` float32."""
    return Type(f"float32x{lanes}", "vector", f"<{lanes} x float>")


@dataclass(frozen=True)
class Element:
    """An array's element: its type in memory, and its type once loaded."""

    dtype: str
    stored: str
    loaded: Type
    widen: str = ""
    """LLVM's conversion from what is stored to what is loaded."""
    narrow: str = ""

    @property
    def array(self) -> Type:
        """The type of a flat array of them."""
        return Type(f"{self.dtype}[]", "array", self.dtype)


ELEMENTS = {
    element.dtype: element
    for element in (
        Element("float32", "float", FLOAT),
        Element("float64", "double", DOUBLE),
        Element("int64", "i64", INTEGER),
        Element("uint64", "i64", UNSIGNED_LONG),
        Element("int32", "i32", INTEGER, "sext", "trunc"),
        Element("uint32", "i32", INTEGER, "zext", "trunc"),
        Element("int16", "i16", INTEGER, "sext", "trunc"),
        Element("uint16", "i16", INTEGER, "zext", "trunc"),
        Element("int8", "i8", INTEGER, "sext", "trunc"),
        Element("uint8", "i8", INTEGER, "zext", "trunc"),
        # Any byte but 0 is true, and counts as 1.
        Element("truth", "i8", INTEGER, "tested", "trunc"),
        Element("half", "half", FLOAT, "fpext", "fptrunc"),
        # As bits: without instructions for them LLVM calls functions that no process has.
        Element("bfloat", "i16", FLOAT, "widened", "rounded"),
    )
}
HELD_AS = {"bool": "uint8", "float16": "uint16", "bfloat16": "uint16"}
"""Dtypes of which a kernel sees the bits."""
VALUES = {"float16": "half", "bfloat16": "bfloat", "bool": "truth"}
"""The dtype that a kernel is told instead where it calculates with such values."""


@dataclass(frozen=True)
class Value:
    """Something computed: its type and LLVM's name of it.  An array has its address and count."""

    type: Type
    name: str
    count: str = ""

    @property
    def literal(self) -> int | None:
        """The integer, where it is known while compiling."""
        digits = self.name.removeprefix("-")
        return int(self.name) if self.type is INTEGER and digits.isdigit() else None


@dataclass(frozen=True)
class Function:
    """A function by the instructions that it stands for: ``write(to, arguments)`` writes them.

    ``to`` is a `rooftile.devices.cpu.native.expressions.Expressions`.
    """

    name: str
    write: Callable[[Any, list[Value]], Value]

    def __call__(self, *arguments: Any) -> Any:
        """Only compiled code can call it."""
        raise TypeError(f"{self.name} can be called in kernels only")


def literal(number: bool | int | float) -> Value:
    """A number written in the text."""
    if isinstance(number, bool):
        return Value(BOOL, "true" if number else "false")
    if isinstance(number, int):
        return Value(INTEGER, str(number))
    return constant(number, DOUBLE)


def constant(number: float, of: Type) -> Value:
    """A float; LLVM wants the bits of the double that has its value, in single precision too."""
    if of is FLOAT:
        with np.errstate(over="ignore"):
            number = float(np.float32(number))
    (bits,) = struct.unpack("<Q", struct.pack("<d", number))
    return Value(of, f"0x{bits:016X}")
