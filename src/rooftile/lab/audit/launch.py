"""A launch line: how many blocks of how many threads, and what the kernel is given.

    grid=ceil(columns/16),ceil(rows/16),batch*maps block=16,16 args=x,weights,bias,out,height

Sizes are integer expressions of the problem's numbers, with ``+ - * / // %``, ``ceil``,
``min`` and ``max``; ``/`` is exact, so it wants a ``ceil`` or ``//`` where it does not divide.
They are evaluated over their syntax tree; nothing else of Python is reachable.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rooftile.devices.gpu import Launch, Size3
from rooftile.errors import InputError
from rooftile.ops import Problem
from rooftile.ops.checks import is_whole

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: Fraction,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ceil": lambda *a: math.ceil(*a),
    "min": min,
    "max": max,
}
_KEYS = ("grid", "block", "args", "shared", "define")
_LONGEST = 200
"""Characters of the longest expression that is read."""


def names_of(problem: Problem) -> dict[str, int]:
    """A problem's numbers by name: its fields, pairs as ``mask_height`` and ``mask_width``,
    the pool's as ``pool_...``, its `Problem.sizes`, and each array's size as ``x_size``."""
    found: dict[str, int] = {}

    def add(name: str, value: Any) -> None:
        if is_whole(value):
            found[name] = int(value)
        elif isinstance(value, tuple) and len(value) == 2:
            add(f"{name}_height", value[0])
            add(f"{name}_width", value[1])
        elif dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                add(f"{name}_{field.name}", getattr(value, field.name))

    for field in dataclasses.fields(problem):  # type: ignore[arg-type]
        add(field.name, getattr(problem, field.name))
    sizes = {f"{array.name}_size": array.size for array in problem.arrays}
    return {**found, **problem.sizes(), **sizes}


def evaluate(expression: str, names: Mapping[str, int]) -> int:
    """An integer expression's value.  Raises `InputError`."""
    if len(expression) > _LONGEST:
        raise InputError("launch", f"{len(expression)} characters", f"at most {_LONGEST}")
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body, names)
    except (SyntaxError, TypeError, ZeroDivisionError, ValueError, RecursionError) as error:
        raise InputError("launch", repr(expression), f"integers and names ({error})") from None
    if Fraction(value).denominator != 1:
        raise InputError("launch", f"{expression} = {value}", "a whole number: ceil(...) or //")
    return int(value)


def _value(node: ast.AST, names: Mapping[str, int]) -> int | Fraction:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise InputError("launch", repr(node.id), f"a name among {sorted(names)}")
        return names[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left, names), _value(node.right, names)
        result: int | Fraction = _OPERATORS[type(node.op)](left, right)
        return result
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        function = _FUNCTIONS.get(node.func.id)
        if function is not None:
            called: int | Fraction = function(*(_value(one, names) for one in node.args))
            return called
    raise ValueError(f"{ast.unparse(node)!r} is not allowed")


@dataclass(frozen=True)
class LaunchLine:
    """The parsed line; expressions are evaluated for each problem."""

    grid: tuple[str, ...]
    block: tuple[str, ...]
    args: tuple[str, ...]
    """Names of the problem's arrays, or expressions, passed as int32."""
    shared: str = "0"
    """Bytes of dynamic shared memory."""
    define: tuple[tuple[str, str], ...] = ()
    """Macros, as ``NAME:expression``."""

    @classmethod
    def parse(cls, line: str) -> LaunchLine:
        """From ``key=value`` words.  Raises `InputError`."""
        found: dict[str, tuple[str, ...]] = {}
        for word in line.split():
            key, equals, value = word.partition("=")
            if key not in _KEYS or not equals:
                raise InputError("launch", repr(word), f"key=value, a key among {list(_KEYS)}")
            found[key] = tuple(_split(value))
        for key in ("grid", "block", "args"):
            if not found.get(key):
                raise InputError("launch", repr(line), f"{key}=...")
        for key in ("grid", "block"):
            if len(found[key]) > 3:
                raise InputError("launch", f"{key} of {len(found[key])} sizes", "at most 3")
        macros = tuple(one.partition(":")[::2] for one in found.get("define", ()))
        shared = found.get("shared", ("0",))[0]
        return cls(found["grid"], found["block"], found["args"], shared, macros)

    def launch(self, function: str, problem: Problem) -> Launch:
        """The launch for a problem.  Raises `InputError`."""
        names = names_of(problem)
        return Launch(
            function,
            _size3(self.grid, names),
            _size3(self.block, names),
            evaluate(self.shared, names),
        )

    def macros(self, problem: Problem) -> dict[str, int | str]:
        """The macros for a problem.  Raises `InputError`."""
        names = names_of(problem)
        return {name: evaluate(text or "1", names) for name, text in self.define}

    def arguments(self, problem: Problem) -> list[str | int]:
        """Names of arrays and values of expressions in the kernel's order.  Raises `InputError`."""
        names, arrays = names_of(problem), {array.name for array in problem.arrays}
        missing = [array.name for array in problem.output_arrays if array.name not in self.args]
        if missing:
            raise InputError("launch", f"args without {', '.join(missing)}", "every output")
        return [one if one in arrays else evaluate(one, names) for one in self.args]


def _split(value: str) -> list[str]:
    """Split a value at commas outside of brackets."""
    parts, depth = [""], 0
    for character in value:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part]


def _size3(parts: tuple[str, ...], names: Mapping[str, int]) -> Size3:
    sizes = [evaluate(part, names) for part in parts] + [1, 1]
    return sizes[0], sizes[1], sizes[2]
