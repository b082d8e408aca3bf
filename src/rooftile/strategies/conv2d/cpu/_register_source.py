"""Generate the kernel of `register_tile` for one problem.

A block of accumulators, maps x rows x vectors, stays in registers from the bias
to the pooled result.  The taps have two orders:

``tap``: for each tap, load every (row, vector) and use each once per map;
``row``: for each mask column, load each input row once and use it for every
mask row and accumulator row that meets it.

Pools whose windows tile the image are folded in registers.  Others, and average
pools after an activation that is not piecewise linear, go through rows in
scratch, finished by `_fused.finish_row`.

Rows may lie end to end (`_flat_rows`): then a block is maps x vectors of all rows together.
"""

from __future__ import annotations

from rooftile.devices.cpu.emit import Writer
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.conv2d.cpu._epilogue import Epilogue, emit_band, finish_row_call
from rooftile.strategies.conv2d.cpu._tile import Tile


def generate(tile: Tile) -> str:
    """Source of a module with ``kernel(x, weights, bias, out, scratch, sizes, begin, end)``."""
    p = tile.problem
    to = Writer()
    with (
        to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"),
        to.block("for unit in range(begin, end):"),
    ):
        emit_band(to, p, tile.band)
        image = f"n * {p.channels * p.height * p.width}"
        if tile.staged.needed:
            tile.staged.emit(to, image, f"top * {tile.pool_rows[1]}")
            to.line("base = 0")
            if tile.ahead:
                to.line(f"coming = {image} + {p.channels * p.height * p.width}")
        else:
            to.line(f"base = {image} + top * {tile.pool_rows[1] * p.stride[0] * p.width}")
        _Rows(tile, to).emit()
    return to.text()


class _Rows:
    """Emits the loops over a band's rows, column groups and map blocks."""

    def __init__(self, tile: Tile, to: Writer) -> None:
        self.tile, self.to, self.p = tile, to, tile.problem
        self.source = "scratch" if tile.staged.needed else "x"
        self.end = Epilogue(tile.problem, tile.band, tile.lanes, to)

    def emit(self) -> None:
        """Emit the steps: each makes the result rows of one register block, or one pooled row."""
        tile, to = self.tile, self.to
        if tile.flat:
            self._emit_map_blocks(*divmod(self.p.maps, tile.block.maps), self._emit_flat)
            return
        step = tile.block.rows if self.p.pool is None else 1
        step = min(step, tile.band)
        whole, rest = divmod(tile.band, step)
        if whole:
            with to.loop("y", whole) as y:
                self._emit_step(f"{y} * {step}", step)
        if rest:
            self._emit_step(str(whole * step), rest)

    def _emit_step(self, row: str, step: int) -> None:
        """Emit the result rows ``row`` to ``row + step - 1`` of the band, for all maps."""
        tile, to = self.tile, self.to
        full, rest = divmod(self.p.maps, tile.block.maps)
        if not tile.folded:
            self._emit_map_blocks(full, rest, lambda maps, m: self._emit_unfolded(row, maps, m))
            return
        groups, tail = divmod(tile.vectors, tile.block.vectors)
        ragged = self.p.conv_span[1] % tile.lanes
        if ragged and not tail:
            # The last vector is partial: its group is emitted apart.
            groups, tail = groups - 1, tile.block.vectors
        if groups:
            with to.loop("g", groups) as g:
                width = tile.block.vectors
                column = f"{g} * {width * tile.lanes}"
                self._emit_map_blocks(
                    full,
                    rest,
                    lambda maps, m: self._emit_folded(row, step, column, width, maps, m),
                )
        if tail:
            column = str(groups * tile.block.vectors * tile.lanes)
            self._emit_map_blocks(
                full,
                rest,
                lambda maps, m: self._emit_folded(row, step, column, tail, maps, m, last=True),
            )

    def _emit_map_blocks(self, full: int, rest: int, emit) -> None:  # type: ignore[no-untyped-def]
        if full:
            with self.to.loop("block", full) as block:
                emit(self.tile.block.maps, f"{block} * {self.tile.block.maps}")
        if rest:
            emit(rest, str(full * self.tile.block.maps))

    def _emit_taps(
        self, row: str, rows: int, column: str, vectors: int, maps: int, m: str, ragged: int
    ) -> None:
        """Sum into accumulators ``a<map>_<row>_<vector>``; ``row`` is a conv row of the band."""
        tile, to, p = self.tile, self.to, self.p
        if tile.ahead:
            to.line(*(f"prefetch2(x, coming + {16 * k})" for k in range(tile.ahead)))
            to.line(f"coming += {16 * tile.ahead}")
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

    def _emit_channel(
        self, c: str, row: str, rows: int, column: str, vectors: int, maps: int, m: str, ragged: int
    ) -> None:
        """Emit the taps of one channel."""
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
        to, p, pitch = self.to, self.p, self.tile.staged.row
        with to.loop("ky", p.mask[0]) as ky:
            for kx in range(p.mask[1]):
                column = self.tile.staged.column(str(kx))
                for q in range(maps):
                    to.line(
                        f"w{q} = splat_at(weights, w + ({ky} * {p.mask[1]} + {kx}) * {maps} + {q})"
                    )
                for r in range(rows):
                    for v in range(vectors):
                        offset = f"({ky} + {r * p.stride[0]}) * {pitch} + {column}"
                        to.line(self._load("t", offset, v, vectors, ragged))
                        to.line(
                            *(f"a{q}_{r}_{v} = fma(w{q}, t, a{q}_{r}_{v})" for q in range(maps))
                        )

    def _emit_row_order(self, rows: int, vectors: int, maps: int, ragged: int) -> None:
        to, p, pitch = self.to, self.p, self.tile.staged.row
        with to.loop("kx", p.mask[1]) as kx:
            column = self.tile.staged.column(kx)
            for i in range((rows - 1) * p.stride[0] + p.mask[0]):
                taps = [(r, i - r * p.stride[0]) for r in range(rows)]
                taps = [(r, ky) for r, ky in taps if 0 <= ky < p.mask[0]]
                if not taps:
                    continue
                for v in range(vectors):
                    to.line(self._load(f"t{v}", f"{i * pitch} + {column}", v, vectors, ragged))
                for q in range(maps):
                    for r, ky in taps:
                        at = f"w + ({ky * p.mask[1]} + {kx}) * {maps} + {q}"
                        to.line(f"tap = splat_at(weights, {at})")
                        for v in range(vectors):
                            to.line(f"a{q}_{r}_{v} = fma(tap, t{v}, a{q}_{r}_{v})")

    def _emit_folded(
        self, row: str, step: int, column: str, vectors: int, maps: int, m: str, last: bool = False
    ) -> None:
        """Emit one register block: taps, activation and pool stay in registers until the store."""
        p, pool, lanes = self.p, self.p.pool, self.tile.lanes
        columns = p.conv_span[1]
        ragged = columns % lanes if last else 0
        valid = vectors * lanes - (lanes - ragged if ragged else 0)
        self._emit_near(row, step, column, valid, maps, m)
        if pool is None:
            self._emit_taps(row, step, column, vectors, maps, m, ragged)
            for q in range(maps):
                for r in range(step):
                    names = [f"a{q}_{r}_{v}" for v in range(vectors)]
                    self.end.store(f"{m} + {q}", names, f"{row} + {r}", column, valid)
            return
        window, done = pool.window[0], 0
        while done < window:
            rows = min(self.tile.block.rows, window - done)
            self._emit_taps(f"({row}) * {window} + {done}", rows, column, vectors, maps, m, ragged)
            for q in range(maps):
                for v in range(vectors):
                    for r in range(rows):
                        self.end.fold(f"m{q}_{v}", f"a{q}_{r}_{v}", done + r == 0)
            done += rows
        for q in range(maps):
            names = [f"m{q}_{v}" for v in range(vectors)]
            self.end.finish(f"{m} + {q}", names, row, column, valid)

    def _emit_near(self, row: str, step: int, column: str, valid: int, maps: int, m: str) -> None:
        """Emit prefetches of the results' lines, which come while the taps are summed."""
        pool = self.p.pool
        rows, across = (step, 1) if pool is None else (1, pool.window[1])
        for q in range(maps):
            for r in range(rows):
                self.end.bring_near(
                    f"{m} + {q}", f"{row} + {r}", f"({column}) // {across}", valid // across
                )

    def _emit_flat(self, maps: int, m: str) -> None:
        """Emit the results of a band whose rows lie end to end: vector after vector."""
        tile, to, p = self.tile, self.to, self.p
        wide = tile.block.vectors
        groups, tail = divmod(tile.vectors, wide)
        if groups:
            with to.loop("g", groups) as g:
                self._emit_flat_block(f"{g} * {wide * tile.lanes}", wide, maps, m)
        if tail:
            self._emit_flat_block(str(groups * wide * tile.lanes), tail, maps, m)
        if p.activation in ("sigmoid", "tanh"):
            count = tile.band * p.output_size[1]
            with to.loop("q", maps) as q:
                to.line(f"o = {self.end.place(f'{m} + {q}', '0', '0')}")
                to.line(f"activate_row(out, o, {count}, {ACTIVATION_CODES[p.activation]})")

    def _emit_flat_block(self, column: str, vectors: int, maps: int, m: str) -> None:
        """Emit a register block of vectors from ``column`` on, which runs through the rows.

        A vector has results of several rows, and between them sums that are none.
        """
        tile, to = self.tile, self.to
        lanes, row, columns = tile.lanes, tile.flat_rows.row, self.p.output_size[1]
        for v in range(vectors):
            to.line(
                f"first = {column} + {v * lanes}",
                f"row = first // {row}",
                f"column{v} = first - row * {row}",
                f"at{v} = row * {columns} + column{v}",
                f"left{v} = min({lanes}, {tile.band * row} - first)",
            )
        for q in range(maps):
            to.line(f"o{q} = {self.end.place(f'{m} + {q}', '0', '0')}")
            to.line(*(f"prefetch1(out, o{q} + at{v} + {lanes})" for v in range(vectors)))
        self._emit_taps("0", 1, column, vectors, maps, m, 0)
        for v in range(vectors):
            # The first row in the vector, and those that begin in it.
            for start in range(0, row + lanes - 1, row):
                to.line(
                    f"start = {start} - column{v}",
                    f"stop = min(left{v}, start + {columns})",
                )
                with to.block("if start < stop:"):
                    for q in range(maps):
                        value = self.end.activated(f"a{q}_0_{v}")
                        at = f"o{q} + at{v} - {start // row * (row - columns)}"
                        to.line(f"store_between(out, {at}, {value}, start, stop)")

    def _emit_unfolded(self, row: str, maps: int, m: str) -> None:
        """Emit the convolution rows of one result row into scratch, and finish them by map."""
        tile, to, p, pool = self.tile, self.to, self.p, self.p.pool
        assert pool is not None
        pitch, start = tile.pitch, tile.staged.size
        groups = [
            (v, min(tile.block.vectors, tile.vectors - v))
            for v in range(0, tile.vectors, tile.block.vectors)
        ]
        window = pool.window[0]
        for done in range(0, window, tile.block.rows):
            rows = min(tile.block.rows, window - done)
            for first, vectors in groups:
                last = first + vectors == tile.vectors
                ragged = p.conv_span[1] % tile.lanes if last else 0
                conv_row = f"({row}) * {pool.stride[0]} + {done}"
                self._emit_taps(conv_row, rows, str(first * tile.lanes), vectors, maps, m, ragged)
                for q in range(maps):
                    for r in range(rows):
                        at = start + (q * window + done + r) * pitch + first * tile.lanes
                        for v in range(vectors):
                            to.line(f"store(scratch, {at + v * tile.lanes}, a{q}_{r}_{v})")
        result_rows, columns = p.output_size
        with self.end.kept(row):
            for q in range(maps):
                out = f"((n * {p.maps} + {m} + {q}) * {result_rows} + top + {row}) * {columns}"
                to.line(finish_row_call(p, start + q * window * pitch, pitch, out))
