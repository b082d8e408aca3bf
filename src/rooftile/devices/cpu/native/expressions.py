"""Translate expressions of the kernel language into LLVM's text."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rooftile.devices.cpu.native.instructions import Instructions, KernelError
from rooftile.devices.cpu.native.types import (
    BOOL,
    INTEGER,
    NONE,
    Element,
    Function,
    Type,
    Value,
    literal,
)


class Expressions(Instructions, ABC):
    """Evaluates expressions, writing the instructions as it goes."""

    def __init__(self, scope: Callable[[str], Any], flags: str, lanes: int) -> None:
        super().__init__(flags, lanes)
        self._scope = scope

    @abstractmethod
    def variable(self, name: str) -> Value | None: ...

    @abstractmethod
    def call(self, function: Any, given: list[Value]) -> Value:
        """The result of another function: of the language, of Python or of NumPy."""

    @abstractmethod
    def intrinsic(self, name: str, result: Type, given: list[Value], flags: str = "") -> Value:
        """The result of a function of LLVM's or of the C library."""

    @abstractmethod
    def local(self, count: Value, element: Element) -> Value:
        """An array on the stack."""

    def value(self, node: ast.expr) -> Value:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise KernelError(f"no {type(node).__name__} in kernels: {ast.unparse(node)}")
        found: Value = method(node)
        return found

    def number(self, node: ast.expr) -> Value:
        """The value of an index or a bound: an integer."""
        return self.convert(self.value(node), INTEGER)

    def _constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, bool | int | float):
            return literal(node.value)
        raise KernelError(f"{node.value!r} in a kernel")

    def _name(self, node: ast.Name) -> Value:
        variable = self.variable(node.id)
        if variable is not None:
            return variable
        return self._known(node, self._scope(node.id))

    def _attribute(self, node: ast.Attribute) -> Value:
        if node.attr == "size":
            array = self.value(node.value)
            return Value(INTEGER, array.count)
        return self._known(node, self._object(node))

    def _known(self, node: ast.expr, found: Any) -> Value:
        if isinstance(found, bool | int | float):
            return literal(found)
        if isinstance(found, type) and issubclass(found, np.generic):
            return Value(NONE, found.__name__)
        raise KernelError(f"{ast.unparse(node)} is no number")

    def _object(self, node: ast.expr) -> Any:
        """The object that a name means outside the kernel."""
        if isinstance(node, ast.Attribute):
            return getattr(self._object(node.value), node.attr)
        if isinstance(node, ast.Name):
            return self._scope(node.id)
        raise KernelError(f"{ast.unparse(node)} cannot be called")

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return self.made(BOOL, f"xor i1 {self.truth(value).name}, true")
        if not isinstance(node.op, ast.USub):
            raise KernelError(ast.unparse(node))
        if value.literal is not None:
            return literal(-value.literal)
        if value.type.kind == "float":
            return self.made(value.type, f"fneg {value.type.llvm} {value.name}")
        value = self.convert(value, INTEGER)
        return self.made(INTEGER, f"sub nsw i64 0, {value.name}")

    def _binop(self, node: ast.BinOp) -> Value:
        return self.operate(node.op, self.value(node.left), self.value(node.right))

    def _compare(self, node: ast.Compare) -> Value:
        a, found = self.value(node.left), None
        for op, right in zip(node.ops, node.comparators, strict=True):
            b = self.value(right)
            one = self.compared(op, a, b)
            found = one if found is None else self.made(BOOL, f"and i1 {found.name}, {one.name}")
            a = b
        assert found is not None
        return found

    def _boolop(self, node: ast.BoolOp) -> Value:
        found = self.value(node.values[0])
        for other in node.values[1:]:
            test = partial(self._test, other)
            if isinstance(node.op, ast.Or):
                found = self._either(found, lambda: literal(True), test)
            else:
                found = self._either(found, test, lambda: literal(False))
        return found

    def _test(self, node: ast.expr) -> Value:
        return self.truth(self.value(node))

    def _ifexp(self, node: ast.IfExp) -> Value:
        return self._either(
            self.value(node.test), lambda: self.value(node.body), lambda: self.value(node.orelse)
        )

    def _either(self, test: Value, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
        """One of two values; only that one is computed."""
        labels = self.label("yes"), self.label("no"), self.label("either")
        self.branch(test, labels[0], labels[1])
        before, sides = self._lines, []
        for label, compute in zip(labels, (yes, no), strict=False):
            self._lines = []
            self.begin(label)
            sides.append((compute(), self._lines, self._block))
        (a, first, first_end), (b, second, second_end) = sides
        of = a.type if a.type is b.type else self.common(a, b)
        ends = []
        for value, lines, end in ((a, first, first_end), (b, second, second_end)):
            self._lines = lines
            ends.append((self.convert(value, of), end))
            self.jump(labels[2])
        self._lines = before + first + second
        self.begin(labels[2])
        incoming = ", ".join(f"[ {value.name}, %{end} ]" for value, end in ends)
        return self.made(of, f"phi {of.llvm} {incoming}")

    # Arrays

    def _subscript(self, node: ast.Subscript) -> Value:
        array = self.value(node.value)
        if array.type.kind != "array":
            raise KernelError(f"{ast.unparse(node.value)} is no array")
        if isinstance(node.slice, ast.Slice):
            return self._part(array, node.slice)
        return self.element(array, self.number(node.slice))

    def _part(self, array: Value, part: ast.Slice) -> Value:
        """A part of an array; unlike Python's it does not end where the array does."""
        first = self.number(part.lower) if part.lower else literal(0)
        last = self.number(part.upper) if part.upper else Value(INTEGER, array.count)
        count = self.operate(ast.Sub(), last, first)
        return Value(array.type, self.address(array, first), count.name)

    # Calls

    def _call(self, node: ast.Call) -> Value:
        called = self._object(node.func)
        given = [self.value(argument) for argument in node.args]
        return (
            called.write(self, given) if isinstance(called, Function) else self.call(called, given)
        )
