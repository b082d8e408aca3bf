"""Whether `fast` is ever slower than `ieee`: convolutions drawn at random, both timed in turns.

    python benchmarks/fast_shapes.py [--seed 7] [--seconds 140] [--shapes 400] [--write FILE]

3x3, 5x5 and 7x7 masks, 1 to 512 channels and maps, images of 4x4 to 64x64, one to eight of them,
some with a pool.  Of each shape `winograd` is timed against the choice at `ieee`, in calls of one
image batch with packed weights and, where a single call at `fast` takes it, in public calls too.
Rounds of both alternate, and a shape's number is the median ratio of neighbouring rounds, which a
busy machine changes little.

The end says how often the choice at `fast` is slower, and how often it leaves out what would be a
quarter faster.  The shapes of even places are the fitted half: from them comes the least estimate
at which none is slower, which the check half, of odd places, then has to bear out.  It needs NumPy
alone; ``ROOFTILE_NUM_THREADS`` sets the threads.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rooftile
from rooftile.devices import cpu
from rooftile.devices.cpu.native.build import processor
from rooftile.ops import Conv2d, Pool
from rooftile.runtime.selection.choice import decide
from rooftile.strategies import strategy
from rooftile.strategies.conv2d.cpu._winograd_gain import gain
from rooftile.strategies.conv2d.cpu.winograd import tile_of

Row = dict[str, Any]
SLOWER = 0.97
"""A measured ratio below is slower; what is above lies within what two equal calls differ by."""
_MISSED = 1.25
_ROUND_S = 4e-4
_ROUNDS = 31
_MOST_S = 0.6
"""Seconds that the rounds of one comparison may take, once there are nine of them."""
_MOST_FLOPS = 2e9


def drawn(draw: random.Random) -> Conv2d:
    """A problem that `winograd` takes."""
    size = draw.choice([3, 3, 3, 5, 7])
    channels, maps = (round(512 ** draw.random()) for _ in range(2))
    height, width = (round(4 * 16 ** draw.random()) for _ in range(2))
    width = draw.choice([height, width])
    padding = draw.choice([0, size // 2])
    pool = Pool("max", (2, 2), (2, 2)) if draw.random() < 0.15 else None
    batch = draw.choice([1, 1, 1, 1, 2, 8])
    if min(height, width) + 2 * padding < size + 3:
        return drawn(draw)
    problem = Conv2d(
        batch, channels, height, width, maps, (size, size), (1, 1), (padding, padding), pool=pool
    )
    taken = strategy("conv2d", "winograd").why_not(problem) is None
    return problem if taken and problem.flops < _MOST_FLOPS else drawn(draw)


def clock() -> float:
    """Seconds: those that one thread computes, where there is one; others may be waited for."""
    return time.thread_time() if cpu.cores() == 1 else time.perf_counter()


def ratio(slow: Callable[[], object], fast: Callable[[], object]) -> float:
    """How many times as fast ``fast`` is, by rounds in turns."""
    for call in (slow, fast, slow, fast):
        call()
    start = clock()
    fast()
    calls = max(1, round(_ROUND_S / max(1e-9, clock() - start)))
    ratios, begin = [], time.perf_counter()
    for turn in range(_ROUNDS):
        order = (slow, fast) if turn % 2 else (fast, slow)
        spent = {}
        for call in order:
            start = clock()
            for _ in range(calls):
                call()
            spent[call] = clock() - start
        ratios.append(spent[slow] / spent[fast])
        if turn >= 8 and time.perf_counter() - begin > _MOST_S:
            break
    return statistics.median(ratios)


def _bound(problem: Conv2d, name: str, arrays: Sequence[Any]) -> Callable[[], object]:
    x, *parameters = arrays
    out = np.empty(problem.output_shape, np.float32)
    bound = strategy("conv2d", name).bind(problem, tuple(parameters), cpu.open_device())
    return lambda: bound(x, out)


def measured(problem: Conv2d) -> Row:
    """A shape's estimates and ratios."""
    arrays = problem.random(0)
    plain, fast = decide(problem).strategy.name, decide(problem, "fast").strategy.name
    row: Row = {
        "shape": str(problem),
        "ieee": plain,
        "chosen": fast == "winograd",
        "estimated": gain(problem, tile_of(problem), once=False),
        "ratio": ratio(_bound(problem, plain, arrays), _bound(problem, "winograd", arrays)),
    }
    if decide(problem, "fast", once=True).strategy.name == "winograd":
        given: dict[str, Any] = {"padding": problem.padding, "pool": problem.pool}
        call = partial(rooftile.conv2d, *arrays, **given)
        row["call_estimated"] = gain(problem, tile_of(problem), once=True)
        row["call_ratio"] = ratio(call, partial(call, precision="fast"))
    return row


def least_gain(rows: Sequence[Row]) -> float:
    """The least estimate from which on no shape is slower."""
    return max((row["estimated"] for row in rows if row["ratio"] < SLOWER), default=0.0)


def report(rows: Sequence[Row]) -> list[str]:
    """The lines at the end."""
    lines = []
    for title, part in (("fitted half", rows[::2]), ("check half", rows[1::2]), ("all", rows)):
        taken = [row["ratio"] for row in part if row["chosen"]]
        slower = sum(one < SLOWER for one in taken)
        missed = sum(row["ratio"] >= _MISSED for row in part if not row["chosen"])
        text = f"{title}: {len(part)} shapes, {len(taken)} by winograd, {slower} of them slower"
        if taken:
            low, *_, high = (
                statistics.quantiles(taken, n=20, method="inclusive")
                if len(taken) > 1
                else taken * 2
            )
            middle = statistics.median(taken)
            text += (
                f" (least {min(taken):.2f}, 5 % {low:.2f}, median {middle:.2f}, 95 % {high:.2f})"
            )
        lines.append(f"{text}; {missed} left out that are {_MISSED} times as fast")
    calls = [row["call_ratio"] for row in rows if "call_ratio" in row]
    if calls:
        slower = sum(one < SLOWER for one in calls)
        lines.append(
            f"single calls: {len(calls)} by winograd, {slower} slower, least {min(calls):.2f}"
        )
    least = least_gain(rows[::2])
    over = [row for row in rows[1::2] if row["estimated"] > least]
    slower = sum(row["ratio"] < SLOWER for row in over)
    lines.append(
        f"the fitted half asks for an estimate over {least:.2f}; of the {len(over)} of the check"
        f" half above, {slower} are slower"
    )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--shapes", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=140.0, help="no new shape after these")
    parser.add_argument("--write", type=Path, metavar="FILE", help="the rows as JSON")
    options = parser.parse_args()
    draw, begin = random.Random(options.seed), time.perf_counter()
    rows: list[Row] = []
    while len(rows) < options.shapes and time.perf_counter() - begin < options.seconds:
        row = measured(drawn(draw))
        rows.append(row)
        slower = row["chosen"] and row["ratio"] < SLOWER
        if slower or row.get("call_ratio", 1.0) < SLOWER:
            print(json.dumps(row), flush=True)
    name, told = processor()
    print(
        f"{name}, {'AVX-512' if '+avx512f' in told.split(',') else 'AVX2'}, {cpu.cores()} threads"
    )
    print(*report(rows), sep="\n")
    if options.write:
        options.write.write_text(
            json.dumps({"processor": name, "threads": cpu.cores(), "rows": rows})
        )
    return int(any(row["chosen"] and row["ratio"] < SLOWER for row in rows))


if __name__ == "__main__":
    sys.exit(main())
