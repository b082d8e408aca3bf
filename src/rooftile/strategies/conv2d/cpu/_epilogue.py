"""Emit the fused block's end, in registers: pool, activation, store.

Shared by the generated kernels of `register_tile` and `winograd`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from rooftile.devices.cpu.emit import Writer
from rooftile.ops import ACTIVATIONS, Conv2d
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.conv2d.cpu.loops import pool_codes


def folds(problem: Conv2d, lanes: int) -> bool:
    """True if the fused pool can be taken in registers."""
    pool = problem.pool
    if pool is None:
        return True
    if pool.kind not in ("max", "average") or pool.activation != "none":
        return False
    width = pool.window[1]
    tiles = pool.window == pool.stride and width <= lanes and width & (width - 1) == 0
    return tiles and (problem.pools_first or ACTIVATIONS[problem.activation].selects)


class Epilogue:
    """Writes the code for one problem; vectors lie along a row of the image.

    Units of work are bands of ``band`` result rows.  Where bands do not divide the image,
    the last one is moved up to be whole.  It stores only its rows from ``skip`` on: the
    others belong to another unit, perhaps on another core.
    """

    def __init__(self, problem: Conv2d, band: int, lanes: int, to: Writer) -> None:
        self.p, self.lanes, self.to = problem, lanes, to
        self._overlaps = problem.output_size[0] % band != 0
        self.average = problem.pool is not None and problem.pool.kind == "average"

    def finish(self, m: str, names: list[str], row: str, column: str, valid: int) -> None:
        """Pool vertically folded rows horizontally, then activate and store them."""
        assert self.p.pool is not None
        width = self.p.pool.window[1]
        names = self.across(names, width)
        self.store(m, names, row, f"({column}) // {width}", valid // width)

    def activated(self, name: str) -> str:
        """The expression of a pooled vector's mean and activation, where vectors have one."""
        if self.average:
            assert self.p.pool is not None
            height, width = self.p.pool.window
            return f"multiply({name}, splat(float32({1.0 / (height * width)!r})))"
        return self.selected(name)

    def selected(self, name: str) -> str:
        """The expression of an activation that one instruction computes; else the value itself."""
        row = ACTIVATIONS[self.p.activation]
        return row.vector.format(z=name) if row.selects else name

    def fold(self, into: str, value: str, first: bool) -> None:
        """Take ``value`` into the pool's running result ``into``."""
        average = self.average
        if average:
            value = self.selected(value)
        if first:
            self.to.line(f"{into} = {value}")
        else:
            self.to.line(f"{into} = {'add' if average else 'maximum'}({into}, {value})")

    def across(self, names: list[str], width: int) -> list[str]:
        """Fold ``width`` neighbouring lanes of the vectors, and return the names of the results."""
        combine = "add" if self.average else "maximum"
        while width > 1:
            folded = []
            for k in range(0, len(names), 2):
                pair = f"{names[k]}, {names[min(k + 1, len(names) - 1)]}"
                name = f"h{k // 2}"
                self.to.line(f"{name} = {combine}(even({pair}), odd({pair}))")
                folded.append(name)
            names, width = folded, width // 2
        return names

    def store(self, m: str, names: list[str], row: str, column: str, valid: int) -> None:
        """Activate and store one result row's part of map ``m``."""
        to, p, lanes = self.to, self.p, self.lanes
        with self.kept(row):
            to.line(f"o = {self.place(m, row, column)}")
            for k, name in enumerate(names):
                value = self.activated(name)
                count = min(lanes, valid - k * lanes)
                if count == lanes:
                    to.line(f"store(out, o + {k * lanes}, {value})")
                elif count > 0:
                    to.line(f"store_part(out, o + {k * lanes}, {value}, {count})")
            if not ACTIVATIONS[p.activation].selects:
                code = ACTIVATION_CODES[p.activation]
                to.line(f"activate_row(out, o, {valid}, {code})")

    def bring_near(self, m: str, row: str, column: str, valid: int) -> None:
        """Prefetch where one result row's part of map ``m`` will be stored."""
        self.to.line(f"o = {self.place(m, row, column)}")
        self.to.line(*(f"prefetch1(out, o + {k})" for k in range(0, valid, 16)))

    def place(self, m: str, row: str, column: str) -> str:
        """The index of a result."""
        rows, columns = self.p.output_size
        return f"((n * {self.p.maps} + {m}) * {rows} + top + {row}) * {columns} + {column}"

    def kept(self, row: str) -> AbstractContextManager[None]:
        """Code written inside runs only for the rows that the band stores."""
        return self.to.block(f"if {row} >= skip:") if self._overlaps else nullcontext()


def finish_row_call(problem: Conv2d, start: int, pitch: int, to: str) -> str:
    """A call of `finish_row`: rows ``pitch`` apart in scratch, from ``start`` on, into the row of
    the result at ``out[to]``."""
    pool = problem.pool
    window, stride = (pool.window, pool.stride[1]) if pool else ((1, 1), 1)
    columns, code = problem.output_size[1], ACTIVATION_CODES[problem.activation]
    numbers = ", ".join(str(n) for n in (columns, *window, stride, code, *pool_codes(problem)))
    return f"finish_row(scratch, {start}, {pitch}, out, {to}, {numbers})"


def emit_band(to: Writer, problem: Conv2d, band: int) -> None:
    """Write which image ``n`` and result rows (``top``; from ``skip`` on) a unit is."""
    bands, last = -(-problem.output_size[0] // band), problem.output_size[0] - band
    to.line(f"n = unit // {bands}")
    to.line(f"top = min(unit % {bands} * {band}, {last})")
    to.line(f"skip = unit % {bands} * {band} - top")
