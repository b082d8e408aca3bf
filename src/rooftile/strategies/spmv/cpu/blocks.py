"""`blocks`: a row of BSR's blocks at a time, and each block written out.

The sums of its rows stay in registers, an element of x is read once for all of them, and no loop
goes over so few elements.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.spmv.cpu._base import CpuSpmv
from rooftile.strategies.spmv.cpu._texts import sizes_of, spread

_MOST = 8
"""Rows of the largest blocks that are written out."""
_TEXT = """
    rows, columns = sizes[0], sizes[1]
    for down in range(begin, end):
{zeros}
        for b in range(block_offsets[down], block_offsets[down + 1]):
            first = block_columns[b] * {block}
            # The last block may end beyond the columns, where it has zeros.
            for j in range(min({block}, columns - first)):
                at = b * {square} + j
                seen = x[first + j]
{sums}
        r = down * {block}
{ends}
"""
_SUM = """\
                value{i} = values[at + {line}]
                product{i} = value{i} * seen
                sum{i} = sum{i} + (product{i} if value{i} != ZERO else ZERO)"""
_END = """\
        if r < rows:
            total = sum{i}
            y[r] = FINISHED
        r += 1"""


@lru_cache(maxsize=64)
def _text(block: int) -> str:
    each = range(block)
    return _TEXT.format(
        block=block,
        square=block * block,
        zeros="\n".join(f"        sum{i} = ZERO" for i in each),
        sums="\n".join(_SUM.format(i=i, line=i * block) for i in each),
        ends="\n".join(_END.format(i=i) for i in each),
    )


class Blocks(CpuSpmv):
    """Takes BSR of blocks of up to eight rows."""

    name = "blocks"
    summary = "a row of blocks at a time, each block written out"
    takes = features("dtype:* form:bsr index:int64 updated")
    forms = ("bsr",)

    def limits(self, problem: Spmv) -> str | None:
        reason = super().limits(problem)
        if reason is None and problem.block > _MOST:
            return f"it is for blocks of up to {_MOST} rows, not of {problem.block}"
        return reason

    def units(self, problem: Spmv) -> int:
        return -(-problem.rows // problem.block)

    def prepare(
        self, problem: Spmv, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        run, units = (
            spread(problem, "", _text(problem.block), flags="contract"),
            self.units(problem),
        )
        sizes = sizes_of(problem)

        def call(*arrays: AnyArray) -> None:
            run(arrays, sizes, units, threads)

        return call


STRATEGY = Blocks()
