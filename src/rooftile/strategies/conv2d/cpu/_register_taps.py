"""Generate the sums of a register block of `register_tile`.

The taps have two orders:

``tap``: for each tap, load every (row, vector) and use each once per map;
``row``: for each mask column, load each input row once and use it for every
mask row and accumulator row that meets it.

`Tile.turn` says how many of them one turn of a loop has written out; the order is the same.
"""

from __future__ import annotations

from rooftile.devices.cpu.emit import Writer
from rooftile.strategies.conv2d.cpu._tile import Tile

_LINES_WRITTEN_OUT = 16
"""Prefetches that a register block has written out; a loop makes more of them."""


class Taps:
    """Emits the sums of register blocks of a tile."""

    def __init__(self, tile: Tile, to: Writer) -> None:
        self.tile, self.to, self.p = tile, to, tile.problem
        self.source = "scratch" if tile.staged.needed else "x"

    def emit_taps(
        self, row: str, rows: int, column: str, vectors: int, maps: int, m: str, ragged: int
    ) -> None:
        """Sum into accumulators ``a<map>_<row>_<vector>``; ``row`` is a conv row of the band."""
        tile, to, p = self.tile, self.to, self.p
        self._emit_ahead()
        if tile.groups > 1:
            m = f"group + {m}"
        sums = [(q, r, v) for q in range(maps) for r in range(rows) for v in range(vectors)]
        for q in range(maps):
            to.line(f"bias{q} = splat_at(bias, {m} + {q})")
        to.line(*(f"a{q}_{r}_{v} = bias{q}" for q, r, v in sums))
        if not tile.chunk:
            with to.loop("c", p.channels) as c:
                self._emit_channel(c, row, rows, column, vectors, maps, m, ragged)
            return
        at = [f"{tile.totals + k * tile.lanes}" for k in range(len(sums))]
        names = [f"a{q}_{r}_{v}" for q, r, v in sums]
        to.line(*(f"store(scratch, {k}, {a})" for k, a in zip(at, names, strict=True)))
        with to.block(f"for chunk in range(0, {p.channels}, {tile.chunk}):"):
            to.line(*(f"{a} = splat(float32(0.0))" for a in names))
            with to.block(f"for c in range(chunk, min(chunk + {tile.chunk}, {p.channels})):"):
                self._emit_channel("c", row, rows, column, vectors, maps, m, ragged)
            for k, a in zip(at, names, strict=True):
                to.line(f"{a} = add(load(scratch, {k}), {a})", f"store(scratch, {k}, {a})")

    def _emit_ahead(self) -> None:
        """Emit the prefetches of the next image's lines."""
        to, lines = self.to, self.tile.ahead
        if lines > _LINES_WRITTEN_OUT:
            with to.block(f"for line in range({lines}):"):
                to.line("prefetch2(x, coming + line * 16)")
        else:
            to.line(*(f"prefetch2(x, coming + {16 * k})" for k in range(lines)))
        if lines:
            to.line(f"coming += {16 * lines}")

    def _emit_channel(
        self, c: str, row: str, rows: int, column: str, vectors: int, maps: int, m: str, ragged: int
    ) -> None:
        tile, to, p = self.tile, self.to, self.p
        area = p.mask[0] * p.mask[1]
        to.line(
            f"s = base + {c} * {tile.staged.plane} + ({row}) * {p.stride[0] * tile.staged.row}"
            f" + {column}",
            f"w = ({m}) * {p.channels * area} + {c} * {area * maps}",
        )
        if tile.block.order == "tap":
            self._emit_tap_order(rows, vectors, maps, ragged)
        else:
            self._emit_row_order(rows, vectors, maps, ragged)

    def _load(self, name: str, offset: str, v: int, vectors: int, ragged: int) -> str:
        at = f"s + {offset} + {v * self.tile.lanes}"
        if ragged and v == vectors - 1 and self.source == "x":
            return f"{name} = load_part(x, {at}, {ragged})"
        return f"{name} = load({self.source}, {at})"

    def _emit_tap_order(self, rows: int, vectors: int, maps: int, ragged: int) -> None:
        to, wide, turn = self.to, self.p.mask[1], self.tile.turn or self.p.mask[1]
        stride, dilation = self.p.stride[1], self.p.dilation[1]
        with to.loop("ky", self.p.mask[0]) as ky:

            def tap(first: str, k: int) -> None:
                """Emit the tap in the mask's column ``first + k``; ``first`` is of phase 0."""
                if first == "0" or turn * dilation % stride == 0:
                    column = self.tile.staged.column(str(k * dilation))
                    column += "" if first == "0" else f" + {first} * {dilation} // {stride}"
                else:
                    column = self.tile.staged.column(f"(({first} + {k}) * {dilation})")
                weight = f"w + ({ky} * {wide} + {first} + {k}) * {maps}"
                self._emit_tap(ky, column, weight, rows, vectors, maps, ragged)

            whole, rest = divmod(wide, turn)
            if whole:
                with to.loop("kx", whole) as kx:
                    first = "0" if kx == "0" else f"{kx} * {turn}"
                    for k in range(turn):
                        tap(first, k)
            for k in range(wide - rest, wide):
                tap("0", k)

    def _emit_tap(
        self, ky: str, column: str, weight: str, rows: int, vectors: int, maps: int, ragged: int
    ) -> None:
        """Emit the multiplications of all sums by one tap, whose weights begin at ``weight``."""
        to, p, pitch = self.to, self.p, self.tile.staged.row
        for q in range(maps):
            to.line(f"w{q} = splat_at(weights, {weight} + {q})")
        for r in range(rows):
            for v in range(vectors):
                offset = f"({ky} * {p.dilation[0]} + {r * p.stride[0]}) * {pitch} + {column}"
                to.line(self._load("t", offset, v, vectors, ragged))
                to.line(*(f"a{q}_{r}_{v} = fma(w{q}, t, a{q}_{r}_{v})" for q in range(maps)))

    def _emit_row_order(self, rows: int, vectors: int, maps: int, ragged: int) -> None:
        to, p, turn = self.to, self.p, self.tile.turn
        count = (rows - 1) * p.stride[0] + p.mask[0]
        # Input rows that all rows of sums meet, and whose taps a loop can therefore take.
        begin, end = (rows - 1) * p.stride[0], p.mask[0]
        with to.loop("kx", p.mask[1]) as kx:

            def line(i: int, first: str = "0") -> None:
                """Emit the taps that meet input row ``first + i``."""
                taps = [(r, i - r * p.stride[0]) for r in range(rows)]
                taps = [(r, ky) for r, ky in taps if 0 <= ky < p.mask[0]]
                if taps:
                    self._emit_line(i, first, kx, taps, vectors, maps, ragged)

            whole = max(0, end - begin) // turn if turn else 0
            if whole <= 1:
                begin, whole = count, 0
            for i in range(begin):
                line(i)
            if whole:
                with to.block(f"for turn in range({whole}):"):
                    for i in range(begin, begin + turn):
                        line(i, f"turn * {turn}")
            for i in range(begin + whole * turn, count):
                line(i)

    def _emit_line(
        self,
        i: int,
        first: str,
        kx: str,
        taps: list[tuple[int, int]],
        vectors: int,
        maps: int,
        ragged: int,
    ) -> None:
        """Emit the multiplications by an input row: ``taps`` are rows of sums and of the mask."""
        to, p, pitch = self.to, self.p, self.tile.staged.row
        column = self.tile.staged.column(kx)
        for v in range(vectors):
            offset = f"({first} + {i}) * {pitch} + {column}"
            to.line(self._load(f"t{v}", offset, v, vectors, ragged))
        for q in range(maps):
            for r, ky in taps:
                at = f"w + (({first} + {ky}) * {p.mask[1]} + {kx}) * {maps} + {q}"
                to.line(f"tap = splat_at(weights, {at})")
                for v in range(vectors):
                    to.line(f"a{q}_{r}_{v} = fma(tap, t{v}, a{q}_{r}_{v})")
