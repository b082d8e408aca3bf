"""The Toom-Cook transforms as text for kernels: one macro for each direction.

``TRANSFORM_INPUT(from, to)``, ``TRANSFORM_OUTPUT(from, to)`` and ``TRANSFORM_WEIGHTS(from, to)``
are statements over arrays that the compiler keeps in registers.  Of inputs and outputs a point and
its negative share their even and odd parts, which halves the arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from rooftile.strategies.conv2d.cpu._toom_cook import ToomCook

Term = tuple[Fraction, str]


def input_macro(matrices: ToomCook) -> str:
    """``to = B^T from``."""
    n, rows = matrices.size, matrices.input
    lines = [f"(to)[0] = {_sum(_row(rows[0]))};"]
    for p in range(1, n - 1, 2):
        even, odd = (_sum(_row(rows[p])[parity::2]) for parity in (0, 1))
        # The row of -a agrees with that of a on one parity and is its negative on the other.
        odd_differs = all(rows[p + 1][k] == rows[p][k] for k in range(0, n, 2))
        alike, opposite = (even, odd) if odd_differs else (odd, even)
        lines.append(_both(alike, opposite, p))
    lines.append(f"(to)[{n - 1}] = {_sum(_row(rows[n - 1]))};")
    return _block(lines)


def output_macro(matrices: ToomCook) -> str:
    """``to = A^T from``."""
    n = matrices.size
    pairs = range(1, n - 1, 2)
    lines = [
        f"float sum{p} = (from)[{p}] + (from)[{p + 1}], "
        f"difference{p} = (from)[{p}] - (from)[{p + 1}];"
        for p in pairs
    ]
    for k, row in enumerate(matrices.output):
        part = "difference" if k % 2 else "sum"
        ends = [(row[0], "(from)[0]"), (row[n - 1], f"(from)[{n - 1}]")]
        lines.append(
            f"(to)[{k}] = {_sum([ends[0], *((row[p], f'{part}{p}') for p in pairs), ends[1]])};"
        )
    return _block(lines)


def weights_macro(matrices: ToomCook) -> str:
    """``to = G from``, with coefficients in double."""
    return _block([f"(to)[{k}] = {_sum(_row(row), '')};" for k, row in enumerate(matrices.weights)])


def _row(row: Iterable[Fraction]) -> list[Term]:
    return [(value, f"(from)[{k}]") for k, value in enumerate(row)]


def _both(alike: str, opposite: str, p: int) -> str:
    return (
        f"{{ float alike = {alike}, opposite = {opposite}; "
        f"(to)[{p}] = alike + opposite; (to)[{p + 1}] = alike - opposite; }}"
    )


def _sum(terms: Iterable[Term], suffix: str = "f") -> str:
    """Coefficients times names, without zeros, and without ones where they are factors; the suffix
    is their type's."""
    text = ""
    for value, name in terms:
        if value:
            sign = "-" if value < 0 else "+" if text else ""
            factor = "" if abs(value) == 1 else f"{float(abs(value))!r}{suffix} * "
            text += f" {sign} {factor}{name}"
    return text.strip()


def _block(lines: list[str]) -> str:
    return f"do {{ {' '.join(lines)} }} while (0)"
