"""The instructions that a translation writes, and the arithmetic of the kernel language.

Integers have 64 bits; a signed integer that meets an unsigned one of 64 bits is taken as unsigned.
``//`` and ``%`` round down as Python's do, an operation of two float32 gives float32, and an index
is used as it is: a negative one does not count from the end.
"""

from __future__ import annotations

import ast

from rooftile.devices.cpu.native.types import (
    BOOL,
    DOUBLE,
    ELEMENTS,
    FLOAT,
    INTEGER,
    UNSIGNED,
    UNSIGNED_LONG,
    Type,
    Value,
    constant,
    literal,
)

_INTEGER = {
    ast.Add: "add nsw",
    ast.Sub: "sub nsw",
    ast.Mult: "mul nsw",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}
# Numbers without a sign may wrap around.
_UNSIGNED = {kind: words.removesuffix(" nsw") for kind, words in _INTEGER.items()}
_UNSIGNED[ast.RShift] = "lshr"
_FLOAT = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_COMPARED = {
    ast.Lt: ("slt", "ult", "olt"),
    ast.LtE: ("sle", "ule", "ole"),
    ast.Gt: ("sgt", "ugt", "ogt"),
    ast.GtE: ("sge", "uge", "oge"),
    ast.Eq: ("eq", "eq", "oeq"),
    ast.NotEq: ("ne", "ne", "une"),
}
"""LLVM's conditions for integers, unsigned integers and floats; NaN differs from everything."""


class KernelError(Exception):
    """A kernel's text says what the language has no words for: a defect of the kernel's author."""


class Instructions:
    """A function's instructions in LLVM's text, block after block."""

    def __init__(self, flags: str, lanes: int) -> None:
        """``flags`` are the liberties of its arithmetic, ``lanes`` is the width of vectors."""
        self.lanes = lanes
        self._flags = flags and f"{flags} "
        self._lines: list[str] = []
        self._count = 0
        self._block = "start"

    def new(self) -> str:
        """A name that nothing has yet."""
        self._count += 1
        return f"%v{self._count}"

    def write(self, line: str) -> None:
        """Append an instruction."""
        self._lines.append(line)

    def made(self, type_: Type, instruction: str) -> Value:
        """The result of an instruction."""
        name = self.new()
        self.write(f"{name} = {instruction}")
        return Value(type_, name)

    def label(self, word: str) -> str:
        """A block's name that nothing has yet."""
        self._count += 1
        return f"{word}{self._count}"

    def begin(self, label: str) -> None:
        """Begin a block."""
        self._lines.append(f"{label}:")
        self._block = label

    def jump(self, label: str) -> None:
        """End the block by going on elsewhere."""
        self.write(f"br label %{label}")

    def branch(self, test: Value, yes: str, no: str) -> None:
        """End the block by going on at one of two."""
        self.write(f"br i1 {self.truth(test).name}, label %{yes}, label %{no}")

    def truth(self, value: Value) -> Value:
        """True if a number differs from zero."""
        if value.type is BOOL:
            return value
        zero = literal(0) if value.type.kind != "float" else constant(0.0, value.type)
        return self.compared(ast.NotEq(), value, Value(value.type, zero.name))

    def convert(self, value: Value, to: Type) -> Value:
        """A number as another type."""
        of = value.type
        if of is to:
            return value
        if not (of.scalar and to.scalar):
            raise KernelError(f"a {of.name} where a {to.name} is wanted")
        if of.llvm == to.llvm:
            return Value(to, value.name)
        if to is BOOL:
            return self.truth(value)
        if to.kind == "float" and value.literal is not None:
            return constant(float(value.literal), to)
        return self.made(to, f"{_conversion(of, to)} {of.llvm} {value.name} to {to.llvm}")

    def common(self, a: Value, b: Value) -> Type:
        """The type in which two numbers meet."""
        if a.type is b.type:
            return INTEGER if a.type is BOOL else a.type
        kinds = {a.type.kind, b.type.kind}
        if UNSIGNED_LONG in (a.type, b.type) and kinds <= {"integer", "unsigned", "bool"}:
            return UNSIGNED_LONG
        if kinds <= {"integer", "bool"}:
            return INTEGER
        if "unsigned" in kinds and kinds <= {"integer", "unsigned", "bool"}:
            return INTEGER
        if "float" in kinds and kinds <= {"integer", "unsigned", "bool", "float"}:
            return DOUBLE
        raise KernelError(f"a {a.type.name} with a {b.type.name}")

    def operate(self, op: ast.operator, a: Value, b: Value) -> Value:
        """The result of a binary operator."""
        if isinstance(op, ast.Div) and "float" not in (a.type.kind, b.type.kind):
            a, b = self.convert(a, DOUBLE), self.convert(b, DOUBLE)
        of = self.common(a, b)
        a, b = self.convert(a, of), self.convert(b, of)
        if of.kind == "float":
            return self.made(of, f"{_FLOAT[type(op)]} {self._flags}{of.llvm} {a.name}, {b.name}")
        if of.kind == "unsigned" and type(op) in _UNSIGNED:
            return self.made(of, f"{_UNSIGNED[type(op)]} {of.llvm} {a.name}, {b.name}")
        if of is UNSIGNED_LONG:
            raise KernelError("a quotient or a rest of numbers without a sign")
        if isinstance(op, ast.FloorDiv | ast.Mod):
            return self._divide(isinstance(op, ast.Mod), a, b)
        return self.made(of, f"{_INTEGER[type(op)]} i64 {a.name}, {b.name}")

    def _divide(self, rest: bool, a: Value, b: Value) -> Value:
        """Quotient or rest, rounded down: a power of two needs no division."""
        known = b.literal
        if known is not None and known > 0 and known & (known - 1) == 0:
            if rest:
                return self.made(INTEGER, f"and i64 {a.name}, {known - 1}")
            return self.made(INTEGER, f"ashr i64 {a.name}, {known.bit_length() - 1}")
        left = self.made(INTEGER, f"srem i64 {a.name}, {b.name}")
        signs = self.made(INTEGER, f"xor i64 {left.name}, {b.name}")
        opposite = self.made(BOOL, f"icmp slt i64 {signs.name}, 0")
        some = self.made(BOOL, f"icmp ne i64 {left.name}, 0")
        down = self.made(BOOL, f"and i1 {opposite.name}, {some.name}")
        if rest:
            raised = self.made(INTEGER, f"add i64 {left.name}, {b.name}")
            return self.made(INTEGER, f"select i1 {down.name}, i64 {raised.name}, i64 {left.name}")
        quotient = self.made(INTEGER, f"sdiv i64 {a.name}, {b.name}")
        lowered = self.made(INTEGER, f"add i64 {quotient.name}, -1")
        return self.made(INTEGER, f"select i1 {down.name}, i64 {lowered.name}, i64 {quotient.name}")

    def compared(self, op: ast.cmpop, a: Value, b: Value) -> Value:
        """The truth of a comparison."""
        of = self.common(a, b)
        a, b = self.convert(a, of), self.convert(b, of)
        signed, unsigned, ordered = _COMPARED[type(op)]
        if of.kind == "float":
            return self.made(BOOL, f"fcmp {ordered} {of.llvm} {a.name}, {b.name}")
        condition = unsigned if of.kind == "unsigned" else signed
        return self.made(BOOL, f"icmp {condition} {of.llvm} {a.name}, {b.name}")

    def address(self, array: Value, index: Value) -> str:
        """The address of an element."""
        stored = ELEMENTS[array.type.llvm].stored
        at = f"getelementptr inbounds {stored}, ptr {array.name}, i64 {index.name}"
        return self.made(INTEGER, at).name

    def element(self, array: Value, index: Value) -> Value:
        element = ELEMENTS[array.type.llvm]
        place = self.address(array, index)
        if not element.widen:
            return self.made(element.loaded, f"load {element.stored}, ptr {place}")
        raw = self.made(INTEGER, f"load {element.stored}, ptr {place}")
        if element.widen == "widened":
            return self._widened(raw)
        if element.widen == "tested":
            test = self.made(BOOL, f"icmp ne {element.stored} {raw.name}, 0")
            return self.convert(test, element.loaded)
        return self.made(
            element.loaded, f"{element.widen} {element.stored} {raw.name} to {element.loaded.llvm}"
        )

    def put(self, array: Value, index: Value, value: Value) -> None:
        """Store an element."""
        element = ELEMENTS[array.type.llvm]
        value = self.convert(value, element.loaded)
        if element.narrow == "rounded":
            value = self._rounded(value)
        elif element.narrow:
            instruction = f"{element.narrow} {element.loaded.llvm} {value.name}"
            value = self.made(INTEGER, f"{instruction} to {element.stored}")
        self.write(f"store {element.stored} {value.name}, ptr {self.address(array, index)}")

    def _widened(self, raw: Value) -> Value:
        """The float32 of a bfloat's bits."""
        bits = self.made(INTEGER, f"zext i16 {raw.name} to i32")
        upper = self.made(INTEGER, f"shl i32 {bits.name}, 16")
        return self.made(FLOAT, f"bitcast i32 {upper.name} to float")

    def _rounded(self, value: Value) -> Value:
        """A float32 as a bfloat's bits, to the nearest, ties to even. LLVM's own conversion may
        become an instruction that takes subnormal numbers for zeros."""

        def step(instruction: str) -> str:
            return self.made(INTEGER, instruction).name

        bits = step(f"bitcast float {value.name} to i32")
        shifted = step(f"lshr i32 {bits}, 16")
        odd = step(f"and i32 {shifted}, 1")
        half = step(f"add i32 {odd}, 32767")
        nearest = step(f"add i32 {bits}, {half}")
        # A NaN must not be carried into another exponent.
        quiet = step(f"or i32 {bits}, 4194304")
        nan = step(f"fcmp uno float {value.name}, {value.name}")
        found = step(f"select i1 {nan}, i32 {quiet}, i32 {nearest}")
        upper = step(f"lshr i32 {found}, 16")
        return self.made(INTEGER, f"trunc i32 {upper} to i16")


def _conversion(of: Type, to: Type) -> str:
    """LLVM's instruction from one kind of number to another."""
    if of.kind == "float":
        if to.kind != "float":
            return "fptosi" if to is INTEGER else "fptoui"
        return "fptrunc" if to is FLOAT else "fpext"
    if to.kind == "float":
        return "sitofp" if of is INTEGER else "uitofp"
    return "trunc" if to is UNSIGNED and of in (INTEGER, UNSIGNED_LONG) else "zext"
