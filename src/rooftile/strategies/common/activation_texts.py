"""The functions of activations in kernels' languages, made from the table.

``python -m rooftile.strategies.common.activation_texts`` writes ``activations.h`` anew after a
change of the table; a test says when that was forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from rooftile.ops.activation import ACTIVATIONS, CODES, Activation

HEADER = Path(__file__).with_name("activations.h")
_MACROS = {"expf": "exp", "log1pf": "log1p", "fabsf": "fabs", "tanhf": "tanh", "erfcf": "erfc"}
"""OpenCL's names of CUDA C's functions; the prelude defines the functions of `_KNOWN`."""
_KNOWN = ("expf", "fabsf", "tanhf")


def scalar_functions(names: Iterable[str] = tuple(ACTIVATIONS)) -> str:
    """The functions of the CPU's kernel language that activations' expressions call."""
    return "".join(ACTIVATIONS[name].scalar_function for name in names)


def scalar_activated() -> str:
    """A kernel of ``(z, code)`` that is the value of the activation with that code."""
    lines = [scalar_functions(), "def kernel(z, code):"]
    for row in _rows(lambda row: row.scalar):
        lines += [
            f"    if code == {CODES[row.name]}:",
            f"        return {row.scalar.format(z='z')}",
        ]
    return "\n".join([*lines, "    return z", ""])


def scalar_derivative() -> str:
    """A kernel of ``(code, t)`` that is the derivative of the activation with that code."""
    lines = [scalar_functions(), "def kernel(code, t):"]
    for row in _rows(lambda row: row.scalar_slope):
        slope = row.scalar_slope.format(t="t")
        lines += [f"    if code == {CODES[row.name]}:", f"        return {slope}"]
    return "\n".join([*lines, "    return REAL(1.0)", ""])


def vector_row() -> str:
    """A kernel that activates ``count`` elements of ``row`` from ``start`` on in their place."""
    lines = [
        "@apart",
        "def kernel(row, start, count, code):",
        "    stop = start + count",
        "    for j in range(start, stop, lanes()):",
        "        z = load_part(row, j, stop - j)",
    ]
    word = "if"
    for row in _rows(lambda row: row.vector):
        lines += [
            f"        {word} code == {CODES[row.name]}:",
            f"            z = {row.vector.format(z='z')}",
        ]
        word = "elif"
    return "\n".join([*lines, "        store_part(row, j, z, stop - j)", ""])


def header() -> str:
    """The text of ``activations.h``."""
    names = ", ".join(f"{CODES[row.name]} {row.name}" for row in _c_rows())
    values = [f"    if (IS(code, {CODES[row.name]})) return {row.c};" for row in _c_rows()[1:]]
    slopes = [
        f"    if (IS(code, {CODES[row.name]})) return {row.c_slope};" for row in _c_rows()[1:]
    ]
    falling = " && ".join(f"(code) != {CODES[row.name]}" for row in _c_rows() if not row.monotone)
    inputs = " || ".join(f"(code) == {CODES[row.name]}" for row in _c_rows() if row.needs == "z")
    used = [name for name in _MACROS if name not in _KNOWN and name in "".join(values + slopes)]
    return "\n".join(
        [
            "// Activations and their derivatives by codes:",
            f"//   {names}",
            "// Made by common/activation_texts.py from the table in ops/activation.py.",
            "",
            "#pragma once",
            "",
            "#ifdef __OPENCL_VERSION__",
            *(f"#define {name} {_MACROS[name]}" for name in used),
            "#endif",
            "",
            "// A text whose codes are no constants defines USED: a bit for each of its codes.",
            "#ifdef USED",
            "#define IS(code, number) ((USED >> (number) & 1) && (code) == (number))",
            "#else",
            "#define IS(code, number) ((code) == (number))",
            "#endif",
            "",
            "// True if an activation never falls, so that a maximum may be taken before it.",
            f"#define RISES(code) ({falling or '1'})",
            "",
            "// True if the derivative is a function of the activation's input, not of its value.",
            f"#define NEEDS_INPUT(code) ({inputs or '0'})",
            "",
            "__device__ __forceinline__ float activated(int code, float z)",
            "{",
            *values,
            "    return z;",
            "}",
            "",
            "// t is the activation's value, or its input where NEEDS_INPUT.",
            "__device__ __forceinline__ float derivative(int code, float t)",
            "{",
            *slopes,
            "    return 1.0f;",
            "}",
            "",
        ]
    )


def _rows(text: Callable[[Activation], str]) -> list[Activation]:
    """The rows but the identity's for which ``text`` is not empty."""
    return [row for row in ACTIVATIONS.values() if row.name != "none" and text(row)]


def _c_rows() -> list[Activation]:
    """The rows that GPUs' kernels have."""
    return [row for row in ACTIVATIONS.values() if row.c]


if __name__ == "__main__":
    HEADER.write_text(header(), encoding="utf-8")
