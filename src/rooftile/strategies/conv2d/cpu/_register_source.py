"""Generate the kernel of `register_tile` for one problem.

A block of accumulators, maps x rows x vectors, stays in registers from the bias
to the pooled result; `_register_taps` sums it.

Pools whose windows tile the image are folded in registers.  Others, and average
pools after an activation that is not piecewise linear, go through rows in
scratch, finished by `_fused.finish_row`.

Rows may lie end to end (`_flat_rows`): then a block is maps x vectors of all rows together.
"""

from __future__ import annotations

import dataclasses

from rooftile.devices.cpu.emit import Writer
from rooftile.ops import ACTIVATIONS
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.conv2d.cpu._epilogue import Epilogue, emit_band, finish_row_call
from rooftile.strategies.conv2d.cpu._register_taps import Taps
from rooftile.strategies.conv2d.cpu._tile import Block, Tile


def generate(tile: Tile) -> str:
    """Source of a module with ``kernel(x, weights, bias, out, scratch, sizes, begin, end)``."""
    p = tile.problem
    to = Writer()
    with (
        to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"),
        to.block("for unit in range(begin, end):"),
    ):
        emit_band(to, p, tile.band)
        if tile.groups > 1:
            to.line(f"group = n % {tile.groups} * {p.maps}")
        image = f"n * {p.channels * p.height * p.width}"
        if tile.staged.needed:
            tile.staged.emit(to, image, f"top * {tile.pool_rows[1]}")
            to.line("base = 0")
            if tile.ahead:
                to.line(f"coming = {image} + {p.channels * p.height * p.width}")
        else:
            to.line(f"base = {image} + top * {tile.pool_rows[1] * p.stride[0] * p.width}")
        _RowTaps(tile, to).emit()
    return to.text()


MOST_LINES = 800
"""Lines of a text: LLVM takes about half a second for this number, and much longer for a single
block."""


def fitted(tile: Tile) -> Tile:
    """The tile with the most taps in one turn of a loop whose text is not too long: with a smaller
    register block where one tap is too long already, as with large strides and 32 registers."""
    if _fits(tile):
        return tile
    step = tile.problem.stride[1] if tile.block.order == "tap" else 1
    best = dataclasses.replace(tile, turn=1)
    while not _fits(best) and best.block.rows * best.block.maps > 1:
        best = dataclasses.replace(best, block=_smaller(best.block))
    tile, turn = best, max(2, step)
    while turn < max(tile.problem.mask):
        longer = dataclasses.replace(tile, turn=turn)
        if not _fits(longer):
            break
        best, turn = longer, 2 * turn
    return best


def _smaller(block: Block) -> Block:
    if block.rows > 1:
        return dataclasses.replace(block, rows=block.rows - 1)
    return dataclasses.replace(block, maps=block.maps - 1)


def _fits(tile: Tile) -> bool:
    """True if the text of a tile is short enough; one that is far from it is not generated."""
    p, block = tile.problem, tile.block
    per_vector = block.rows * block.vectors * (1 + block.maps) + block.maps
    across = tile.turn or p.mask[1 if block.order == "tap" else 0]
    if across * per_vector > MOST_LINES:
        return False
    return generate(tile).count("\n") <= MOST_LINES


def _parts(total: int, size: int, *, last_apart: bool = False) -> list[tuple[int, int, int]]:
    """First index, number and size of the parts of a total: the last one may be smaller, or
    separate."""
    whole, rest = divmod(total, size)
    if last_apart and not rest and whole > 1:
        whole, rest = whole - 1, size
    parts = [(0, whole, size), (whole * size, 1, rest)]
    return [part for part in parts if part[1] and part[2]]


class _RowTaps(Taps):
    """Emits the loops over a band's rows, column groups and map blocks."""

    def __init__(self, tile: Tile, to: Writer) -> None:
        super().__init__(tile, to)
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

    def _emit_folded(
        self, row: str, step: int, column: str, vectors: int, maps: int, m: str, last: bool = False
    ) -> None:
        """Emit one register block: taps, activation and pool stay in registers until the store."""
        to, p, pool, lanes = self.to, self.p, self.p.pool, self.tile.lanes
        columns = p.conv_span[1]
        ragged = columns % lanes if last else 0
        valid = vectors * lanes - (lanes - ragged if ragged else 0)
        self._emit_near(row, step, column, valid, maps, m)
        if pool is None:
            self.emit_taps(row, step, column, vectors, maps, m, ragged)
            for q in range(maps):
                for r in range(step):
                    names = [f"a{q}_{r}_{v}" for v in range(vectors)]
                    self.end.store(f"{m} + {q}", names, f"{row} + {r}", column, valid)
            return
        window, high = pool.window[0], self.tile.block.rows

        def part(done: str, rows: int) -> None:
            """Emit the sums and the fold of ``rows`` of the pool's rows."""
            self.emit_taps(f"({row}) * {window} + {done}", rows, column, vectors, maps, m, ragged)
            for q in range(maps):
                for v in range(vectors):
                    for r in range(rows):
                        self.end.fold(f"m{q}_{v}", f"a{q}_{r}_{v}", done == "0" and r == 0)

        begun = min(high, window)
        part("0", begun)
        for first, count, rows in _parts(window - begun, high):
            with to.loop("part", count) as k:
                part(f"({begun + first} + {k} * {rows})" if count > 1 else str(begun + first), rows)
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
        if not ACTIVATIONS[p.activation].selects:
            count = tile.band * p.output_size[1]
            with to.loop("q", maps) as q:
                to.line(f"o = {self.end.place(f'{m} + {q}', '0', '0')}")
                to.line(f"activate_row(out, o, {count}, {ACTIVATION_CODES[p.activation]})")

    def _emit_flat_block(self, column: str, vectors: int, maps: int, m: str) -> None:
        """Emit a register block of vectors from ``column`` on, which runs through the rows. A
        vector has results of several rows, and between them sums that are none."""
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
        self.emit_taps("0", 1, column, vectors, maps, m, 0)
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
        window, ragged = pool.window[0], p.conv_span[1] % tile.lanes

        def block(done: str, rows: int, first: str, vectors: int, cut: int) -> None:
            """Emit ``rows`` rows of ``vectors`` vectors, from a row and a vector on."""
            conv_row, column = f"({row}) * {pool.stride[0]} + {done}", f"{first} * {tile.lanes}"
            self.emit_taps(conv_row, rows, column, vectors, maps, m, cut)
            for q in range(maps):
                for r in range(rows):
                    at = f"{start + (q * window + r) * pitch} + {done} * {pitch} + {column}"
                    for v in range(vectors):
                        to.line(f"store(scratch, {at} + {v * tile.lanes}, a{q}_{r}_{v})")

        for top, parts, rows in _parts(window, tile.block.rows):
            with to.loop("part", parts) as k:
                done = f"({top} + {k} * {rows})" if parts > 1 else str(top)
                for left, groups, vectors in _parts(
                    tile.vectors, tile.block.vectors, last_apart=ragged > 0
                ):
                    with to.loop("g", groups) as g:
                        first = f"({left} + {g} * {vectors})" if groups > 1 else str(left)
                        last = left + groups * vectors == tile.vectors
                        block(done, rows, first, vectors, ragged if last else 0)
        result_rows, columns = p.output_size
        with self.end.kept(row):
            for q in range(maps):
                out = f"((n * {p.maps} + {m} + {q}) * {result_rows} + top + {row}) * {columns}"
                to.line(finish_row_call(p, start + q * window * pitch, pitch, out))
