"""`columns`: adjacent lines, a band of them at a time.

An element of a line is next to an element of the next line. A core takes a band of lines and goes
down with them: it reads and writes contiguous memory, in vectors that the compiler makes, and each
line's prefix stays in the first-level cache.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.patterns.scan import Scan
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.scan_kernels import scanning

_BAND = 256
"""Lines of a band."""
_FEW = 64
"""Number of adjacent lines below which one core takes all."""

_TEXT = """
def kernel(x, y, sizes, begin, end):
    count, inner, bands = sizes[0], sizes[1], sizes[2]
    high = np.empty(BAND, CARRIED)
    low = np.empty(BAND, CARRIED)
    for unit in range(begin, end):
        first = unit % bands * BAND
        width = min(BAND, inner - first)
        for k in range(width):
            high[k] = IDENTITY
            low[k] = ZERO
        at = first_of(unit // bands * inner + first, count, inner)
        for element in range(count):
            for k in range(width):
                before = value_of(high[k], low[k])
                value = CARRIED(x[at + k])
                low[k] = low[k] + lost_in(high[k], value)
                high[k] = combined(high[k], value)
                y[at + k] = before if EXCLUSIVE else value_of(high[k], low[k])
            at += step_of(inner)
""".replace("BAND", str(_BAND))


class Columns(HostStrategy):
    """Takes every operator, along an axis that is not the last."""

    operation = "scan"
    name = "columns"
    summary = "bands of neighbouring lines, down the axis"
    takes = features(
        "axis dtype:* exclusive operator.associative operator.commutative operator:* reverse"
    )

    def limits(self, problem: Scan) -> str | None:
        return "lines are not adjacent" if problem.inner == 1 else None

    def units(self, problem: Scan) -> int:
        return problem.outer * _bands(problem)

    def prepare(
        self, problem: Scan, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        way = problem.operator, problem.carried, problem.exclusive
        dtypes = problem.dtype, problem.output_arrays[0].dtype
        run = scanning("scan_columns", _TEXT, *way, dtypes, problem.reverse)
        sizes = np.array((problem.count, problem.inner, _bands(problem)), np.int64)

        def call(x: AnyArray, y: AnyArray) -> None:
            run((x, y), sizes, self.units(problem), threads)

        return call

    def accesses(self, problem: Scan) -> Counted:
        """Neighbouring lines side by side, each in order."""
        count = problem.lines * problem.count
        return {"bands of lines": through(count, count, count, problem.count)}


def _bands(problem: Scan) -> int:
    return -(-problem.inner // _BAND)


STRATEGY = Columns()
