"""The requests of warps of `conv2d` rungs, followed thread by thread as their texts are written."""

from __future__ import annotations

import itertools

from hypothesis import assume
from hypothesis import strategies as st

from rooftile.ops import Conv2d, Pool
from tests.support.traces import Trace, blocks, warps


class Conv:
    """A problem's indices."""

    def __init__(self, problem):
        self.problem = p = problem
        self.rows, self.columns = p.output_size
        self.window = p.pool.window if p.pool else (1, 1)
        self.step = p.pool.stride if p.pool else (1, 1)
        self.units = list(itertools.product(range(p.batch), range(p.maps)))
        self.channels, self.mask = range(p.channels), list(itertools.product(*map(range, p.mask)))

    def corner(self, row, column):
        """Where the mask lies for a convolution output."""
        (down, across), (top, left) = self.problem.stride, self.problem.padding
        return row * down - top, column * across - left

    def pixel(self, n, c, i, j):
        """An input's index; None for a ghost cell."""
        p = self.problem
        if not (0 <= i < p.height and 0 <= j < p.width):
            return None
        return ((n * p.channels + c) * p.height + i) * p.width + j

    def out(self, n, m, row, column):
        return ((n * self.problem.maps + m) * self.rows + row) * self.columns + column


def real(elements):
    return (e for e in elements if e is not None)


def naive(problem, config, *, weights=True, along_rows=False):
    conv, trace = Conv(problem), Trace()
    across, down = config["BLOCK_X"], config["BLOCK_Y"]
    block = (across, down) if along_rows else (down, across)
    for (n, m), (top, left) in itertools.product(
        conv.units, blocks(conv.rows, conv.columns, *block)
    ):
        for warp in warps(across, down):
            lanes = [(top + x, left + y) if along_rows else (top + y, left + x) for x, y in warp]
            lanes = [(r, c) for r, c in lanes if r < conv.rows and c < conv.columns]
            if not lanes:
                continue
            for a, b in itertools.product(*map(range, conv.window)):
                trace.load([m] * len(lanes))
                corners = [
                    conv.corner(r * conv.step[0] + a, c * conv.step[1] + b) for r, c in lanes
                ]
                for channel, (p, q) in itertools.product(conv.channels, conv.mask):
                    trace.load([0] * len(lanes) if weights else [])
                    trace.load(real(conv.pixel(n, channel, i + p, j + q) for i, j in corners))
            trace.store(conv.out(n, m, r, c) for r, c in lanes)
    return trace


def tiled(problem, tile, *, centre=(0, 0), core=False, weights=True):
    """`tile_output` and `tile_input`; with ``core``, `tile_core`; without ``weights``,
    `tile_constant`."""
    conv, trace = Conv(problem), Trace()
    (height, width), (high, wide) = tile.threads, tile.loaded
    for (n, m), (top, left) in itertools.product(
        conv.units, blocks(conv.rows, conv.columns, *tile.results)
    ):
        i0, j0 = conv.corner(top * conv.step[0], left * conv.step[1])
        i0, j0 = i0 + centre[0], j0 + centre[1]
        block = warps(width, height)
        for warp in block:
            trace.load([m] * len(warp))
        for channel in conv.channels:
            elements = [divmod(e, wide) for e in range(high * wide)]
            for first in range(0, len(elements), width * height):
                stage = elements[first : first + width * height]
                for at in range(0, len(stage), 32):
                    cells = stage[at : at + 32]
                    trace.load(real(conv.pixel(n, channel, i0 + i, j0 + j) for i, j in cells))
            for warp, (p, q) in itertools.product(block, conv.mask):
                summing = [
                    (x, y) for x, y in warp if y < tile.positions[0] and x < tile.positions[1]
                ]
                trace.load([0] * len(summing) if weights else [])
                if core:
                    trace.load(_halo(conv, tile, (n, channel, i0, j0), centre, summing, p, q))
        for warp in block:
            made = [(top + y, left + x) for x, y in warp
                    if y < tile.results[0] and x < tile.results[1]]  # fmt: skip
            trace.store(conv.out(n, m, r, c) for r, c in made if r < conv.rows and c < conv.columns)
    return trace


def adjacent(problem, tile):
    """`tile_adjacent`: each thread's two elements, the first ones of a warp in one request."""
    conv, trace = Conv(problem), Trace()
    for (n, m), (top, left) in itertools.product(
        conv.units, blocks(conv.rows, conv.columns, *tile.results)
    ):
        i0, j0 = conv.corner(top * conv.step[0], left * conv.step[1])
        for warp in warps(tile.threads[1], tile.threads[0]):
            trace.load([m] * len(warp))
            for channel in conv.channels:
                for k in range(2):
                    trace.load(
                        real(conv.pixel(n, channel, i0 + y, j0 + 2 * x + k) for x, y in warp)
                    )
                summing = [
                    0 for x, y in warp if y < tile.positions[0] and 2 * x < tile.positions[1]
                ]
                for _ in conv.mask:
                    trace.load(summing)
            for k in range(2):
                made = [(top + y, left + 2 * x + k) for x, y in warp
                        if y < tile.results[0] and 2 * x + k < tile.results[1]]  # fmt: skip
                trace.store(
                    conv.out(n, m, r, c) for r, c in made if r < conv.rows and c < conv.columns
                )
    return trace


def _halo(conv, tile, place, centre, threads, p, q):
    n, channel, i0, j0 = place
    down, across = conv.problem.stride
    for x, y in threads:
        i, j = y * down + p - centre[0], x * across + q - centre[1]
        if not (0 <= i < tile.loaded[0] and 0 <= j < tile.loaded[1]):
            found = conv.pixel(n, channel, i0 + i, j0 + j)
            if found is not None:
                yield found


def channels_tree(problem, config):
    conv, trace = Conv(problem), Trace()
    results = [
        (n, m, r, c)
        for (n, m), r, c in itertools.product(conv.units, range(conv.rows), range(conv.columns))
    ]
    for first in range(0, len(results), 32):
        lanes = results[first : first + 32]
        for _ in range(config["PARTS"]):
            trace.load(m for _, m, _, _ in lanes)
        for a, b in itertools.product(*map(range, conv.window)):
            corners = [
                (n, *conv.corner(r * conv.step[0] + a, c * conv.step[1] + b))
                for n, _, r, c in lanes
            ]
            for channel, (p, q) in itertools.product(conv.channels, conv.mask):
                trace.load([0] * len(lanes))
                trace.load(real(conv.pixel(n, channel, i + p, j + q) for n, i, j in corners))
        trace.store(conv.out(*lane) for lane in lanes)
    return trace


@st.composite
def problems(draw):
    mask = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    sizes = st.integers(max(mask) + 2, 20)
    pool = draw(st.sampled_from((None, Pool.of("max", 2), Pool.of("max", 3, 2))))
    try:
        return Conv2d(
            draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(sizes), draw(sizes),
            draw(st.integers(1, 3)), mask, draw(st.tuples(*[st.integers(1, 2)] * 2)),
            draw(st.tuples(*[st.integers(0, 2)] * 2)), pool=pool,
        )  # fmt: skip
    except ValueError:
        assume(False)
