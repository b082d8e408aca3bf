"""Toom-Cook matrices of one-dimensional convolution, exact, and the code that applies them.

``y = A^T [(G w) * (B^T x)]`` gives m outputs of an r-tap convolution from
``n = m + r - 1`` inputs with n multiplications.

Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR
2016; points as Barabasz et al., "Error Analysis and Improving the Accuracy of
Winograd Convolution for Deep Neural Networks", ACM TOMS 46 (2020), choose them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from rooftile.devices.cpu.emit import Writer
from rooftile.ops import Float64

if TYPE_CHECKING:
    from fractions import Fraction

    Matrix = tuple[tuple[Fraction, ...], ...]

OUTPUTS = 4
"""Outputs of a tile in each transformed dimension."""

_POINTS = {
    # The error is a third of what it is with 1 and 2.
    3: ("3/4", "3/2"),
    5: ("1", "2", "1/2"),
    # With 3/4 the error is half of what it is with 3/2.
    7: ("1", "2", "1/2", "3/4"),
}
"""Positive interpolation points by mask size; zero, their negatives and infinity join them."""


@dataclass(frozen=True)
class ToomCook:
    """The three matrices for four outputs of ``taps`` taps.

    Rows 2k-1 and 2k belong to a point and its negative, the first row to zero, the
    last to infinity: their even and odd parts are shared.
    """

    taps: int
    input: Matrix
    weights: Matrix
    output: Matrix

    @property
    def size(self) -> int:
        """Inputs of a tile, and multiplications."""
        return len(self.input)

    def weights_matrix(self) -> Float64:
        """``G`` as float64[size, taps]."""
        return np.array([[float(v) for v in row] for row in self.weights])


@lru_cache(maxsize=64)
def toom_cook(taps: int) -> ToomCook:
    """The matrices for a mask size that has points."""
    from fractions import Fraction

    points = [Fraction(0)]
    for a in map(Fraction, _POINTS[taps]):
        points += [a, -a]
    n = OUTPUTS + taps - 1
    rows, weights = [], []
    for i, a in enumerate(points):
        others = [b for j, b in enumerate(points) if j != i]
        rows.append(_pad(_from_roots(others), n))
        scale = Fraction(1)
        for b in others:
            scale *= a - b
        weights.append(tuple(a**k / scale for k in range(taps)))
    rows.append(_pad(_from_roots(points), n))
    weights.append(tuple(Fraction(int(k == taps - 1)) for k in range(taps)))
    output = [
        tuple([a**k for a in points] + [Fraction(int(k == OUTPUTS - 1))]) for k in range(OUTPUTS)
    ]
    return ToomCook(taps, tuple(rows), tuple(weights), tuple(output))


def _from_roots(roots: list[Fraction]) -> list[Fraction]:
    """Coefficients of the product of (x - root), lowest first."""
    from fractions import Fraction

    product = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *product]
        scaled = [-root * c for c in product] + [Fraction(0)]
        product = [a + b for a, b in zip(shifted, scaled, strict=True)]
    return product


def _pad(row: list[Fraction], n: int) -> tuple[Fraction, ...]:
    from fractions import Fraction

    return tuple(row + [Fraction(0)] * (n - len(row)))


class Transforms:
    """Writes the code that applies the matrices to named vectors."""

    def __init__(self, matrices: ToomCook) -> None:
        self.matrices = matrices
        self._constants: dict[float, str] = {}

    def constants(self) -> list[str]:
        """Assignments that must stand before the transforms; complete once those are written."""
        return [f"{name} = splat(float32({value!r}))" for value, name in self._constants.items()]

    def emit_input(self, to: Writer, names: list[str], into: list[str]) -> None:
        """``into = B^T names``."""
        n = self.matrices.size
        rows = self.matrices.input
        self._emit_sum(to, into[0], list(zip(rows[0], names, strict=True)))
        for p in range(1, n - 1, 2):
            # The row of -a agrees with that of a on one parity and is its negative on the other.
            even = [(rows[p][k], names[k]) for k in range(0, n, 2)]
            odd = [(rows[p][k], names[k]) for k in range(1, n, 2)]
            alike, opposite = even, odd
            if any(rows[p + 1][k] != rows[p][k] for k in range(0, n, 2)):
                alike, opposite = odd, even
            self._emit_sum(to, "alike", alike)
            self._emit_sum(to, "opposite", opposite)
            to.line(
                f"{into[p]} = add(alike, opposite)", f"{into[p + 1]} = subtract(alike, opposite)"
            )
        self._emit_sum(to, into[n - 1], list(zip(rows[n - 1], names, strict=True)))

    def emit_output(self, to: Writer, names: list[str], into: list[str]) -> None:
        """``into = A^T names``."""
        n = self.matrices.size
        for p in range(1, n - 1, 2):
            to.line(
                f"sum{p} = add({names[p]}, {names[p + 1]})",
                f"difference{p} = subtract({names[p]}, {names[p + 1]})",
            )
        for k, row in enumerate(self.matrices.output):
            part = "sum" if k % 2 == 0 else "difference"
            terms = [(row[0], names[0])]
            terms += [(row[p], f"{part}{p}") for p in range(1, n - 1, 2)]
            terms.append((row[n - 1], names[n - 1]))
            self._emit_sum(to, into[k], terms)

    def _emit_sum(self, to: Writer, into: str, terms: list[tuple[Fraction, str]]) -> None:
        """``into`` = the sum of coefficient x name: fused multiply-adds, then plain ones."""
        terms = [(c, name) for c, name in terms if c != 0]
        scaled = [(c, name) for c, name in terms if abs(c) != 1]
        added = [name for c, name in terms if c == 1]
        taken = [name for c, name in terms if c == -1]
        if added:
            total = added.pop(0)
        elif scaled:
            c, name = scaled.pop(0)
            total = f"multiply({self._constant(c)}, {name})"
        else:
            total = f"subtract({self._constant(0)}, {taken.pop(0)})"
        for c, name in scaled:
            total = f"fma({self._constant(c)}, {name}, {total})"
        for name in added:
            total = f"add({total}, {name})"
        for name in taken:
            total = f"subtract({total}, {name})"
        to.line(f"{into} = {total}")

    def _constant(self, value: Fraction | int) -> str:
        return self._constants.setdefault(float(value), f"k{len(self._constants)}")
