"""`vectors`: explicit vectors of rows on all cores, the matrix read once in its order.

This is the product of a matrix of one row, x, with a, as `matmul` has it for few rows. Of a[rows,
columns], squares are transposed in registers on their way to the sums; a[columns, rows] is read in
long pieces of its lines.
"""

from __future__ import annotations

from collections.abc import Callable

from rooftile.devices.cpu.native import Native
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.matmul import Matmul
from rooftile.ops.patterns.matvec import Matvec
from rooftile.strategies import HostStrategy
from rooftile.strategies.contract.costs import Work
from rooftile.strategies.matmul.cpu.vectors import STRATEGY as PRODUCT


class Vectors(HostStrategy):
    """Takes every problem."""

    operation = "matvec"
    name = "vectors"
    summary = "explicit vectors of rows on all cores, the matrix read once in its order"
    takes = features("transpose")

    def units(self, problem: Matvec) -> int:
        return PRODUCT.units(as_product(problem))

    def work(self, problem: Matvec) -> Work:
        """See `Strategy.work`: that of the product."""
        return PRODUCT.work(as_product(problem))

    def native(self, problem: Matvec) -> tuple[Native, tuple[str, ...], bool]:
        return PRODUCT.native(as_product(problem))

    def prepare(
        self, problem: Matvec, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        product = PRODUCT.prepare(as_product(problem), (), threads)
        return lambda a, x, y: product(x, a, y)


STRATEGY = Vectors()


def as_product(problem: Matvec) -> Matmul:
    """The product x a^T, of a matrix of one row."""
    return Matmul(1, problem.columns, problem.rows, transpose_b=not problem.transpose)
