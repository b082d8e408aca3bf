"""Functions of the kernel language, and their entries.

A *kernel* is a function that takes flat arrays, then ``sizes`` (int64, whatever it wants to know at
run time), and does the units ``begin`` to ``end - 1`` of its problem's work::

    kernel(a, b, ..., sizes, begin, end)

That of a layer has float32 arrays, one of them a workspace of each thread's own::

    kernel(x, weights, bias, out, scratch, sizes, begin, end)

Numbers of 16 bits come as the uint16 that hold them, booleans as uint8; `values_of` asks for the
numbers themselves, as float32, and for 0 and 1.  Arrays do not overlap.
"""

from __future__ import annotations

import builtins
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from rooftile.devices.cpu.native import build
from rooftile.devices.cpu.native.build import Code, Passes
from rooftile.devices.cpu.native.types import HELD_AS, VALUES

if TYPE_CHECKING:
    import ast

_COMMON = {"np": np, "math": math, "float32": np.float32, "int64": np.int64, "uint32": np.uint32}
"""Names that generated text may use besides Python's own functions and the vectors."""
last_kernels = lru_cache(maxsize=64)
"""Decorates a function that makes kernels: it keeps those that it was asked for last. A kernel's
code is in memory as long as the kernel is."""


def values_of(dtype: str) -> str:
    """The dtype that a kernel is told where it calculates with 16-bit or bool values."""
    return VALUES.get(dtype, dtype)


class Native:
    """A function of the kernel language, compiled for the arrays that it is given."""

    def __init__(
        self,
        name: str,
        digest: str,
        parse: Callable[[], ast.FunctionDef],
        known: Callable[[str], Any],
        flags: str,
        lanes: int | None = None,
        passes: Passes = "all",
        release: Callable[[], None] | None = None,
    ) -> None:
        """``release`` lets go of what ``parse`` gave, which can be made again."""
        self.name = name
        self.digest = digest
        """Of its text and of all that it calls."""
        self.known = known
        """The object that a name means which is no variable of the function."""
        self.flags = flags
        """LLVM's words for the liberties that arithmetic may take: ``contract``, ``reassoc``."""
        self.passes = passes
        """See `source`."""
        self._lanes = lanes
        self._parse, self._release = parse, release
        self._codes: dict[tuple[tuple[str, ...], bool], Code] = {}

    @cached_property
    def tree(self) -> ast.FunctionDef:
        """The function as Python reads it."""
        return self._parse()

    def __call__(self, *arguments: Any) -> Any:
        """Only compiled code can call it."""
        raise TypeError(f"{self.name} can be called in kernels only")

    def address(self, dtypes: Sequence[str], scratch: bool) -> int:
        """The address of the C function ``entry(row, thread, begin, end)``, valid while this object
        is held.

        A row has address and number of elements of each array, of the first thread's scratch where
        there is one (each thread has the same number), and of ``sizes``. At the first call the
        entry is compiled or comes from the cache.
        """
        key = tuple(dtypes), scratch
        if key not in self._codes:
            with build.turn:
                if key not in self._codes:
                    self._codes[key] = self._made(*key)
        return self._codes[key].addresses[0]

    def _made(self, dtypes: tuple[str, ...], scratch: bool) -> Code:
        kind = hashlib.sha256(f"{self.digest} {(dtypes, scratch)}".encode()).hexdigest()
        code = build.code_of(
            self.name, kind, lambda: self.text(dtypes, scratch), ["entry"], self.passes
        )
        # A tree takes a hundred times the memory of its text.
        self.release()
        return code

    def release(self) -> None:
        """Drop the tree; the text is parsed again when the tree is next asked for."""
        self.__dict__.pop("tree", None)
        if self._release is not None:
            self._release()

    def text(self, dtypes: Sequence[str], scratch: bool) -> str:
        """LLVM's text of the function and of its entry."""
        # The translation is not needed where the code comes from the cache.
        from rooftile.devices.cpu.native.statements import Module, kernel_text
        from rooftile.devices.cpu.native.vector import lanes

        held = [HELD_AS.get(dtype, dtype) for dtype in dtypes]
        module = Module(self._lanes or lanes(), spelled_out=self.passes == "simplify")
        return kernel_text(module, self, held, scratch)


def native(function: Callable[..., Any], flags: str = "") -> Native:
    """A function of a module as one of the kernel language.

    ``flags`` are liberties that its arithmetic may take, in LLVM's words: ``contract`` rounds a
    product and a sum once, ``reassoc`` sums in any order.
    """

    def known(name: str) -> Any:
        scope = function.__globals__
        return scope[name] if name in scope else getattr(builtins, name)

    def parse() -> ast.FunctionDef:
        import ast
        import inspect
        import textwrap

        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        assert isinstance(tree, ast.FunctionDef)
        # `native` is none of the language's.
        tree.decorator_list.clear()
        return tree

    code = function.__code__
    words = [f"{name} {_told(function.__globals__.get(name))}" for name in code.co_names]
    words += [code.co_code.hex(), repr(code.co_consts[1:]), repr(code.co_varnames), flags]
    digest = hashlib.sha256("\0".join(words).encode()).hexdigest()
    return Native(function.__name__, digest, parse, known, flags)


def _told(found: object) -> str:
    """The part of a digest for an object that a function names; a module's path is left out."""
    if isinstance(found, Native):
        return found.digest
    return found.__name__ if isinstance(found, ModuleType) else repr(found)


def source(
    stem: str,
    text: str,
    using: Mapping[str, Native] | None = None,
    flags: str = "",
    lanes: int | None = None,
    passes: Passes = "all",
) -> Native:
    """The function ``kernel`` of a generated text, which may call those that are given.

    ``stem`` names it in the cache; ``flags`` as of `native`; ``lanes`` is the width of vectors, by
    default the processor's.  A text that spells its vectors and unrolled loops out needs fewer of
    LLVM's ``passes``: "simplify" takes a third of the time of all and leaves loops over vectors as
    they are, and "variables", for one that calls nothing in them and whose addresses are short,
    takes a tenth.
    """
    given = dict(using or {})
    words = [
        text,
        flags,
        str(lanes),
        passes,
        *(f"{name} {f.digest}" for name, f in sorted(given.items())),
    ]
    digest = hashlib.sha256("\0".join(words).encode()).hexdigest()
    functions = _Text(text, given, digest, flags)
    return Native(
        stem,
        digest,
        lambda: functions.trees["kernel"],
        functions.known,
        flags,
        lanes,
        passes,
        functions.release,
    )


class _Text:
    """The functions of a generated text."""

    def __init__(self, text: str, using: dict[str, Native], digest: str, flags: str) -> None:
        self._text, self._using, self._digest, self._flags = text, using, digest, flags
        self._made: dict[str, Native] = {}

    @cached_property
    def trees(self) -> dict[str, ast.FunctionDef]:
        """Its functions by name."""
        import ast

        body = ast.parse(self._text).body
        return {tree.name: tree for tree in body if isinstance(tree, ast.FunctionDef)}

    def release(self) -> None:
        """Let go of the trees."""
        self.__dict__.pop("trees", None)
        for function in self._made.values():
            function.release()

    def known(self, name: str) -> Any:
        """The object that a name means in the text."""
        from rooftile.devices.cpu.native.vector import VECTORS
        from rooftile.devices.cpu.native.vector_math import VECTOR_MATH

        if name in self.trees:
            if name not in self._made:
                self._made[name] = Native(
                    name, self._digest, lambda: self.trees[name], self.known, self._flags
                )
            return self._made[name]
        for scope in (self._using, VECTORS, VECTOR_MATH, _COMMON):
            if name in scope:
                return scope[name]
        return getattr(builtins, name)
