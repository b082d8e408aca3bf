"""`tiles`: formats that lie column by column are read so, for some rows at a time.

A column's entries lie side by side, and so do the elements of x that a diagonal meets.  Where each
row is finished before the next begins, every step of it reads another column; here a tile's sums
stay in a cache, and the compiler makes vectors of a diagonal.
"""

from __future__ import annotations

from collections.abc import Callable

from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies.spmv.cpu._base import CpuSpmv
from rooftile.strategies.spmv.cpu._texts import FIRST, sizes_of, spread

_ROWS = 1024
"""Rows of a tile: their sums, and a column's terms for them, stay in the first cache."""
_TILE = """
    rows, columns, width, most = sizes[0], sizes[1], sizes[2], sizes[4]
    for tile in range(begin, end):
        first, last = tile * most, min(tile * most + most, rows)
        for place in range(first, last):
            y[ROW] = ZERO
{added}
        for place in range(first, last):
            r = ROW
            total = y[r]
            y[r] = FINISHED
"""
# Padding has the value 0: what x has there must not matter.
_ELL = """
        for k in range(width):
            for r in range(first, last):
                value = values[k * rows + r]
                product = value * x[column_index[k * rows + r]]
                y[r] = y[r] + (product if value != ZERO else ZERO)
"""
_TAIL = """
        e = first_of(tail_rows, first)
        while e < tail_rows.size and tail_rows[e] < last:
            if tail_values[e] != ZERO:
                y[tail_rows[e]] = y[tail_rows[e]] + tail_values[e] * x[tail_columns[e]]
            e += 1
"""
_DIA = """
        for k in range(width):
            above = diagonals[k]
            for r in range(max(first, -above), min(last, columns - above)):
                value = values[k * rows + r]
                product = value * x[r + above]
                y[r] = y[r] + (product if value != ZERO else ZERO)
"""
_JDS_T = """
        k = 0
        while k < width and section_offsets[k] + first < section_offsets[k + 1]:
            section = section_offsets[k]
            for place in range(first, min(last, section_offsets[k + 1] - section)):
                r = permutation[place]
                y[r] = y[r] + values[section + place] * x[column_index[section + place]]
            k += 1
"""
_ADDED = {"ell": _ELL, "hybrid": _ELL + _TAIL, "dia": _DIA, "jds_t": _JDS_T}


class Tiles(CpuSpmv):
    """Takes ELL, hybrid, DIA and transposed JDS."""

    name = "tiles"
    summary = "some rows at a time, a column of the format after the other"
    takes = features("dtype:* form:dia,ell,hybrid,jds_t index:int64 updated")
    forms = ("ell", "hybrid", "dia", "jds_t")

    def units(self, problem: Spmv) -> int:
        return -(-problem.rows // _ROWS)

    def prepare(
        self, problem: Spmv, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        row = "permutation[place]" if problem.form == "jds_t" else "place"
        body = _TILE.format(added=_ADDED[problem.form]).replace("ROW", row)
        run, units = spread(problem, FIRST, body, flags="contract"), self.units(problem)
        sizes = sizes_of(problem, _ROWS)

        def call(*arrays: AnyArray) -> None:
            run(arrays, sizes, units, threads)

        return call


STRATEGY = Tiles()
