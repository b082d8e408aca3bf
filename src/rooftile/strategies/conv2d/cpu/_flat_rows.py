"""Rows end to end in scratch, so that vectors run on over their ends.

A row of 28 columns fills one vector of 16 lanes and three quarters of another.  Here rows follow
each other, each with its ghost cells on one side alone: those behind a row are those before the
next.  A vector's last lanes are then the next row's first columns, and only sums at positions
between rows are thrown away.
"""

from __future__ import annotations

from dataclasses import dataclass

from rooftile.devices.cpu.emit import Writer
from rooftile.ops import Conv2d

_MOST_VECTORS = 4
"""Vectors that cover a row: longer rows leave few lanes idle."""
_LANES = 16
"""With AVX-512 a store of some lanes takes no longer than one of all."""


def lies_flat(problem: Conv2d, lanes: int) -> bool:
    """True if rows of the problem can be stored end to end.

    Each output is a result then, for a pool would want adjacent rows. There are ghost cells, since
    rows without are read in place, and fewer of them on a side than a mask is wide, so that a row
    has no more sums than columns and ghost cells.
    """
    ghosts, columns = problem.padding[1], problem.conv_span[1]
    return (
        problem.pool is None
        and problem.stride == problem.dilation == (1, 1)
        and problem.ghosts == "zero"
        and problem.padding_after is None
        and 0 < ghosts < problem.mask[1]
        and lanes == _LANES
        and columns <= _MOST_VECTORS * lanes
    )


@dataclass(frozen=True)
class FlatRows:
    """Addresses of the taps of a band's input rows."""

    problem: Conv2d
    rows: int
    """Convolution rows of the band."""
    lanes: int

    needed = True
    """True if the kernel reads a copy: see `rooftile.strategies.conv2d.cpu._stage.Staged`."""

    @property
    def row(self) -> int:
        """Distance between rows."""
        return self.problem.width + self.problem.padding[1]

    @property
    def vectors(self) -> int:
        """Vectors that cover the sums of the band, from the first row's to the last one's."""
        sums = (self.rows - 1) * self.row + self.problem.conv_span[1]
        return -(-sums // self.lanes)

    @property
    def plane(self) -> int:
        """Distance between channels: all that the vectors read."""
        height, width = self.problem.mask
        reach = self.vectors * self.lanes + (height - 1) * self.row + width - 1
        return -(-reach // 16) * 16

    @property
    def size(self) -> int:
        """float32 of scratch; a channel's last vector of zeros may end beyond it."""
        return self.problem.channels * self.plane + self.lanes

    def column(self, tap: str) -> str:
        """Offset, within a row, of a tap given by an expression."""
        return tap

    def emit(self, to: Writer, image: str, first_row: str) -> None:
        """Write the copy of all channels to the start of scratch: ``image`` is the image's offset
        in x, ``first_row`` a row of the convolution. Whole vectors are stored in the order of their
        places: what one writes beyond its row is written again."""
        p, lanes = self.problem, self.lanes
        ghosts, last = p.padding[1], self.rows + p.mask[0] - 1
        zero = "splat(float32(0.0))"
        with to.block(f"for c in range({p.channels}):"):
            to.line(f"plane = c * {self.plane}")
            to.line(*(f"store(scratch, plane + {j}, {zero})" for j in range(0, ghosts, lanes)))
            with to.block(f"for r in range({last}):"):
                to.line(
                    f"i, t = {first_row} + r - {p.padding[0]}, plane + r * {self.row} + {ghosts}"
                )
                places = range(0, self.row, lanes)
                with to.block(f"if i < 0 or i >= {p.height}:"):
                    to.line(*(f"store(scratch, t + {j}, {zero})" for j in places))
                with to.block("else:"):
                    to.line(f"s = {image} + (c * {p.height} + i) * {p.width}")
                    for j in places:
                        count = max(0, min(lanes, p.width - j))
                        part = f"load_part(x, s + {j}, {count})" if count else zero
                        value = f"load(x, s + {j})" if count == lanes else part
                        to.line(f"store(scratch, t + {j}, {value})")
            with to.block(f"for j in range({last * self.row}, {self.plane}, {lanes}):"):
                to.line(f"store(scratch, plane + j, {zero})")
