"""Expressions of `a` and `b` as C writes them: parsed, checked, and computed by NumPy.

What an expression may contain::

    names, numbers       a  b  3  0.5  1e-3
    numbers              + - * / % & | ^ ~   min max fmin fmax abs fabs sqrt
    conditions           < <= > >= == !=  && || !
    a choice             condition ? number : number

They bind as in C.  `min` and `max` are NaN if either is, as `numpy.minimum`; `fmin` and `fmax`
prefer the other, as in C.  Every value has the dtype of a and b; integers wrap around.  ``/`` is
for floating-point numbers, ``% & | ^ ~`` are for integers, and a divisor of ``%`` is a number above
0, so that nothing can divide by zero; its result has the sign of the dividend, as in C.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rooftile.errors import InputError

Kind = Literal["number", "condition"]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>\|\||&&|[<>=!]=|[-+*/%&|^~!<>?:(),]))"
)
_LEVELS: tuple[dict[str, str], ...] = (
    {"||": "logical_or"},
    {"&&": "logical_and"},
    {"|": "bitwise_or"},
    {"^": "bitwise_xor"},
    {"&": "bitwise_and"},
    {"==": "equal", "!=": "not_equal"},
    {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"},
    {"+": "add", "-": "subtract"},
    {"*": "multiply", "/": "divide", "%": "fmod"},
)
"""NumPy's names of C's operators with two sides, from those that bind least."""
_PREFIXES = {"-": "negative", "+": "positive", "~": "invert", "!": "logical_not"}
_CALLS = {
    "min": ("minimum", 2), "max": ("maximum", 2), "fmin": ("fmin", 2), "fmax": ("fmax", 2),
    "abs": ("absolute", 1), "fabs": ("absolute", 1), "sqrt": ("sqrt", 1),
}  # fmt: skip
"""NumPy's names of functions, and how many arguments they have."""
_WORDS = {name: sign for signs in (*_LEVELS, _PREFIXES) for sign, name in signs.items()}
_LOGICAL = {"logical_or", "logical_and", "logical_not"}
_COMPARING = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
_OF_INTEGERS = {"bitwise_or", "bitwise_xor", "bitwise_and", "invert", "fmod"}
_OF_FLOATS = {"divide", "sqrt"}
_CHOOSING = {"name", "where", "minimum", "maximum", "fmin", "fmax"} | _LOGICAL | _COMPARING
_DEEPEST = 20
"""Nested parentheses, functions and choices of an expression."""
_LONGEST = 400
"""Words of an expression."""


@dataclass(frozen=True)
class Node:
    """A number, a name, or one of NumPy's functions of other nodes."""

    function: str
    """Of NumPy's; ``name`` and ``number`` are none."""
    parts: tuple[Node, ...] = ()
    text: str = ""
    """The name or the number."""

    @property
    def kind(self) -> Kind:
        """A number or a condition."""
        return "condition" if self.function in _LOGICAL | _COMPARING else "number"

    def all(self) -> tuple[Node, ...]:
        """This node and those in it."""
        return (self, *(one for part in self.parts for one in part.all()))

    @property
    def selects(self) -> bool:
        """True if its value is always one of the two operands, and nothing is calculated."""
        return all(node.function in _CHOOSING for node in self.all())

    def why_not(self, dtype: str) -> str | None:
        """Why values of a dtype cannot take part; None when they can."""
        real = dtype.startswith(("float", "bfloat"))
        for node in self.all():
            if node.function in (_OF_INTEGERS if real else _OF_FLOATS):
                word = _WORDS.get(node.function, node.function)
                return f"{word} is for {'integers' if real else 'floating-point numbers'}"
            if not real and node.function == "number" and not node.text.isdigit():
                return f"{node.text} is no integer"
        return None

    def value(self, a: Any, b: Any) -> Any:
        """NumPy's value for arrays a and b of one dtype."""
        if self.function == "name":
            return a if self.text == "a" else b
        if self.function == "number":
            return a.dtype.type(float(self.text) if a.dtype.kind in "fV" else int(self.text))
        with np.errstate(all="ignore"):
            return getattr(np, self.function)(*(part.value(a, b) for part in self.parts))


def parse(text: str) -> Node:
    """The expression that a text is.  Raises `InputError` naming ``expression``."""
    if not isinstance(text, str):
        raise InputError("expression", repr(text), "C text of a and b, such as 'a > b ? a : b'")
    return _Parser(text).whole()


class _Parser:
    """Descends through C's levels of precedence."""

    def __init__(self, text: str) -> None:
        self._text, self._depth = text, 0
        self._tokens: list[tuple[str, str]] = []
        place, end = 0, len(text.rstrip())
        while place < end:
            found = _TOKEN.match(text, place)
            if found is None:
                raise self._wrong(f"{text[place:].strip()[:20]!r} is no word of it")
            self._tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
            place = found.end()
        if len(self._tokens) > _LONGEST:
            raise self._wrong(f"more than {_LONGEST} words")
        self._tokens.append(("end", ""))

    def whole(self) -> Node:
        made = self._number(self._choice())
        if self._tokens[0][0] != "end":
            raise self._wrong(f"{self._tokens[0][1]!r} follows where it should end")
        return made

    def _wrong(self, reason: str) -> InputError:
        return InputError(
            "expression", f"{self._text!r} ({reason})", "C text of a and b, as 'a > b ? a : b'"
        )

    def _taken(self, *signs: str) -> str:
        """The next token, taken, where it is one of these; else nothing."""
        kind, word = self._tokens[0]
        if kind != "sign" or word not in signs:
            return ""
        del self._tokens[0]
        return word

    def _wanted(self, sign: str) -> None:
        if not self._taken(sign):
            raise self._wrong(f"{self._tokens[0][1] or 'its end'!r} stands where {sign!r} should")

    def _choice(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong(f"more than {_DEEPEST} levels")
        test = self._side(0)
        if self._taken("?"):
            yes = self._number(self._choice())
            self._wanted(":")
            no = self._number(self._choice())
            test = Node("where", (self._condition(test), yes, no))
        self._depth -= 1
        return test

    def _side(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._prefixed()
        signs = _LEVELS[level]
        left = self._side(level + 1)
        while sign := self._taken(*signs):
            right, function = self._side(level + 1), signs[sign]
            side = self._condition if function in _LOGICAL else self._number
            left = Node(function, (side(left), side(right)))
            if function == "fmod" and not (right.text.isdigit() and int(right.text)):
                raise self._wrong("the divisor of % must be a number above 0")
        return left

    def _prefixed(self) -> Node:
        signs = []
        while sign := self._taken(*_PREFIXES):
            signs.append(sign)
        made = self._least()
        for sign in reversed(signs):
            side = self._condition if sign == "!" else self._number
            made = Node(_PREFIXES[sign], (side(made),))
        return made

    def _least(self) -> Node:
        if self._taken("("):
            inside = self._choice()
            self._wanted(")")
            return inside
        kind, word = self._tokens.pop(0)
        if kind == "number":
            return Node("number", text=word)
        if kind == "name" and word in ("a", "b"):
            return Node("name", text=word)
        if kind == "name" and word in _CALLS:
            return self._called(word)
        what = "it ends too early" if kind == "end" else f"{word!r} is not allowed"
        raise self._wrong(f"{what}: it has a, b, numbers and {', '.join(_CALLS)}")

    def _called(self, word: str) -> Node:
        function, count = _CALLS[word]
        self._wanted("(")
        parts = [self._number(self._choice())]
        while self._taken(","):
            parts.append(self._number(self._choice()))
        self._wanted(")")
        if len(parts) != count:
            raise self._wrong(f"{word} has {count} arguments")
        return Node(function, tuple(parts))

    def _number(self, node: Node) -> Node:
        if node.kind != "number":
            raise self._wrong("a condition stands where a number should: write 'condition ? 1 : 0'")
        return node

    def _condition(self, node: Node) -> Node:
        """As in C a number is true where it is not 0."""
        if node.kind == "condition":
            return node
        return Node("not_equal", (node, Node("number", text="0")))
