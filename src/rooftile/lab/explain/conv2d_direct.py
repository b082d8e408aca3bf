"""Accesses of the conv2d rungs that sum from global memory, one output a thread or a group.

`naive`, `restrict_unroll`, `constant`: a thread an output reads every tap's input; `channels_*`
read the same with the channels shared out; `row_*` slide along a row.
"""

from __future__ import annotations

import math

from rooftile.analysis.divergence import guard_1d, guard_2d
from rooftile.analysis.launch import ceil_div
from rooftile.lab.explain.accesses import (
    WARP,
    Accesses,
    broadcasts,
    inside,
    linear_loads,
    linear_stores,
    row_loads,
    row_stores,
)
from rooftile.ops import Conv2d
from rooftile.strategies.gpu import Config


def window(problem: Conv2d) -> tuple[tuple[int, int], tuple[int, int]]:
    """The pool's window and stride; 1 x 1 without a pool."""
    pool = problem.pool
    return (pool.window, pool.stride) if pool else ((1, 1), (1, 1))


def positions_of(problem: Conv2d) -> int:
    """Convolution outputs behind a result."""
    return math.prod(window(problem)[0])


def real_taps(problem: Conv2d, axis: int, *, once: bool = False) -> int:
    """Taps of one axis that meet no ghost cell, over all results and their windows.

    With ``once``, over the convolution outputs that the pool reads, each of which counts once
    even where windows overlap.
    """
    size = (problem.height, problem.width)[axis]
    (windows, strides), results = window(problem), problem.output_size[axis]
    places = [r * strides[axis] + a for r in range(results) for a in range(windows[axis])]
    return sum(
        inside(at * problem.stride[axis] - problem.padding[axis], problem.mask[axis], size)
        for at in (set(places) if once else places)
    )


def real_share(problem: Conv2d, *, once: bool = False) -> float:
    """Share of all taps that meet no ghost cell."""
    share = 1.0
    for axis in (0, 1):
        places = problem.output_size[axis] * window(problem)[0][axis]
        if once:
            places = problem.conv_read[axis]
        share *= real_taps(problem, axis, once=once) / (places * problem.mask[axis])
    return share


def thread_an_output(problem: Conv2d, config: Config, *, taps_global: bool) -> Accesses:
    """A BLOCK_X x BLOCK_Y block; weights from global memory are one address a warp."""
    rows, columns = problem.output_size
    across, down = config["BLOCK_X"], config["BLOCK_Y"]
    lanes = min(across, WARP)
    planes, taps = problem.batch * problem.maps, math.prod(problem.mask)
    reads = planes * problem.channels * taps * positions_of(problem)
    stride = window(problem)[1][1] * problem.stride[1]
    warps = ceil_div(rows, min(WARP // lanes, down)) * ceil_div(columns, lanes)
    share = real_share(problem)
    found = row_loads(columns, reads * rows * share, stride=stride, lanes=lanes)
    if taps_global:
        found += broadcasts(reads * warps, rows * columns / warps)
    found += broadcasts(planes * positions_of(problem) * warps, rows * columns / warps)
    found += row_stores(columns, planes * rows, lanes=lanes)
    layers = min(planes, 65535)
    return found + Accesses(divergent_warps=layers * guard_2d(columns, rows, across, down))


def naive(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """Every tap reads an input and a weight."""
    return {"conv2d": thread_an_output(problem, config, taps_global=True)}


def constant(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """Every tap reads an input; weights come by the constant cache."""
    return {"conv2d": thread_an_output(problem, config, taps_global=False)}


def channels_tree(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """A lane a result, whose channels are shared out over the block's rows of threads."""
    results = math.prod(problem.output_shape)
    taps = problem.channels * math.prod(problem.mask) * positions_of(problem)
    stride = window(problem)[1][1] * problem.stride[1]
    found = linear_loads(
        results * taps, problem.output_size[1], stride=stride, share=real_share(problem)
    )
    found += broadcasts(results / WARP * taps)
    found += broadcasts(results / WARP * config["PARTS"])
    found += linear_stores(results)
    steps = config["PARTS"].bit_length() - 1
    tree = 2 * results / WARP * positions_of(problem) * steps
    last = len(guard_1d(results, 1, config["BLOCK_X"])) * config["PARTS"]
    return {"conv2d": found + Accesses(shared_reads=tree, divergent_warps=last)}


def channels_atomic(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """A lane a sum; each slice of channels adds to it in memory."""
    sums = problem.batch * problem.maps * math.prod(problem.conv_read)
    slices = ceil_div(problem.channels, config["SLICE_CHANNELS"])
    taps = problem.channels * math.prod(problem.mask)
    share = real_share(problem, once=True)
    add = linear_loads(sums * taps, problem.conv_read[1], stride=problem.stride[1], share=share)
    add += broadcasts(sums / WARP * taps) + Accesses(atomics=sums * slices)
    return {
        "clear": linear_stores(sums),
        "accumulate": add,
        "finish": finish_sums(problem),
    }


def finish_sums(problem: Conv2d) -> Accesses:
    """Bias, activation and pool of sums that lie in memory, a lane a result."""
    (_, across), results = window(problem), math.prod(problem.output_shape)
    pool = problem.pool
    # Where windows leave gaps, the sums lie close together.
    step = min(across[1], pool.window[1]) if pool else 1
    found = linear_loads(results * positions_of(problem), problem.output_size[1], stride=step)
    return found + broadcasts(results / WARP) + linear_stores(results)


def row_private(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """An item a map; all items of a warp read the row's elements at one address."""
    return {"conv2d": _sliding(problem, config, shared_rows=0)}


def row_local(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """A row passes through local memory."""
    return {"conv2d": _sliding(problem, config, shared_rows=1)}


def row_vector(problem: Conv2d, config: Config) -> dict[str, Accesses]:
    """The rows of two output rows pass through local memory, and each serves both."""
    return {"conv2d": _sliding(problem, config, shared_rows=2)}


def _sliding(problem: Conv2d, config: Config, shared_rows: int) -> Accesses:
    """``shared_rows``: 0 none in shared memory, 1 a row at a time, 2 those of a pair of rows."""
    rows, columns = problem.conv_read
    span = min(config["SPAN"], ceil_div(columns, 4) * 4)
    line, spans = span + problem.mask[1] - 1, ceil_div(columns, span)
    rounds = ceil_div(problem.maps, config["ITEMS"])
    warps = ceil_div(problem.maps, WARP)
    lines, tap_rows = rows * problem.mask[0], rows * problem.mask[0]
    if shared_rows == 2:
        lines = ceil_div(rows, 2) * (problem.mask[0] + 1)
    passes = problem.batch * spans * problem.channels
    share = real_taps(problem, 0) / (rows * problem.mask[0]) if rows else 1.0
    found = row_loads(problem.maps, passes * tap_rows * problem.mask[1])
    if shared_rows:
        found += row_loads(line, passes * lines * rounds * share)
        # Taps are written out, so that an element is read once for all that meet it.
        found += Accesses(shared_reads=passes * lines * line * warps)
    else:
        found += broadcasts(passes * lines * line * warps * share, problem.maps / warps)
    # Neighbouring items are of different maps, whose planes lie apart.
    results = math.prod(problem.output_shape)
    return found + Accesses(stores=results, store_sectors=results)


ACCESSES = {
    "naive": naive,
    "restrict_unroll": naive,
    "constant": constant,
    "channels_tree": channels_tree,
    "channels_atomic": channels_atomic,
    "row_private": row_private,
    "row_local": row_local,
    "row_vector": row_vector,
}
