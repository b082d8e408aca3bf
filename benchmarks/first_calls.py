"""First calls of shapes that nobody would tune for, each in a fresh process with an empty cache.

    python benchmarks/first_calls.py [--shapes 300] [--seed 45] [--seconds 1.5] [--megabytes 300]

`conv2d`, `conv1d` and `linear` are drawn in turns: masks of one long row or column, strides
larger than masks, prime sizes, one channel and many maps, images of one pixel, masks larger than
the image, batches without images, pools, activations, `fast` and float64.  A call's seconds are
those that its process computes, all threads together, so that other programs on the machine count
little; its megabytes are what the process's largest memory grows by.  The end gives the
distribution; the status is 1 where a call is over a limit.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

Case = dict[str, Any]
"""A function's name, its arrays' shapes and its options, as JSON has them."""

_MOST_FLOPS = 4e8
"""Of one call: what is measured is compiling."""
_LIMIT_S = 120
"""Seconds that a process may take."""
_ACTIVATIONS = ("none", "relu", "tanh", "sigmoid", "gelu")


def log_uniform(draw: random.Random, least: int, most: int) -> int:
    """A size whose logarithm is uniform, both ends included."""
    return min(most, int(least * ((most + 1) / least) ** draw.random()))


def _prime(draw: random.Random, most: int) -> int:
    number = log_uniform(draw, 2, most)
    while any(number % k == 0 for k in range(2, int(number**0.5) + 1)):
        number += 1
    return number


def _masks(draw: random.Random) -> tuple[int, int]:
    """Height and width of a mask: a row, a column or a block."""
    kind = draw.randrange(4)
    if kind == 0:
        return 1, log_uniform(draw, 2, 1024)
    if kind == 1:
        return log_uniform(draw, 2, 512), 1
    if kind == 2:
        return _prime(draw, 60), _prime(draw, 60)
    return log_uniform(draw, 1, 12), log_uniform(draw, 1, 64)


def conv2d(draw: random.Random) -> Case:
    """A convolution of images."""
    tall, wide = _masks(draw)
    down, across = draw.choice([(1, 1), (1, 1), (1, 3), (2, 2), (3, 1), (7, 64), (1000, 1)])
    above, left = draw.choice(
        [(0, 0), (tall // 2, wide // 2), (tall - 1, wide - 1), (0, wide // 3)]
    )
    batch = draw.choice([1, 1, 1, 2, 5, 0])
    channels, maps = log_uniform(draw, 1, 512), log_uniform(draw, 1, 512)
    height, width = log_uniform(draw, 1, 300), log_uniform(draw, 1, 20_000)
    options: dict[str, Any] = {"stride": [down, across], "padding": [above, left]}
    options["activation"] = draw.choice(_ACTIVATIONS)
    # A mask must lie within the padded image.
    height, width = max(height, tall - 2 * above), max(width, wide - 2 * left)
    if draw.random() < 0.2:
        options["boundary"] = draw.choice(["replicate", "interior", "wrap"])
        if options["boundary"] == "wrap":
            height, width = max(height, above), max(width, left)
    rows, columns = (height + 2 * above - tall) // down + 1, (width + 2 * left - wide) // across + 1
    if draw.random() < 0.3:
        window = [min(rows, log_uniform(draw, 1, 13)), min(columns, log_uniform(draw, 1, 13))]
        steps = draw.choice([window, [1, 1], [2, 3]])
        options["pool"] = [draw.choice(["max", "average", "l2"]), window, steps]
    if draw.random() < 0.2:
        options["precision"] = "fast"
    while 2 * max(batch, 1) * maps * channels * rows * columns * tall * wide > _MOST_FLOPS:
        if channels == maps == 1:
            return conv2d(draw)
        channels, maps = max(1, channels // 2), max(1, maps // 2)
    shapes = [[batch, channels, height, width], [maps, channels, tall, wide], [maps]]
    return {"function": "conv2d", "shapes": shapes, "options": options} | _dtype(draw, options)


def conv1d(draw: random.Random) -> Case:
    """A convolution of signals; some without channels."""
    taps, n = log_uniform(draw, 1, 4096), log_uniform(draw, 1, 100_000)
    boundary = draw.choice(["zero", "replicate", "valid", "interior", "reflect", "wrap"])
    n = max(n, taps)
    options = {"boundary": boundary}
    if draw.random() < 0.4:
        while 2 * n * taps > _MOST_FLOPS:
            n = max(taps, n // 2)
        shapes = [[n], [taps]]
    else:
        batch, channels = draw.choice([1, 3, 8]), log_uniform(draw, 1, 512)
        maps = log_uniform(draw, 1, 512)
        while 2 * batch * n * taps * channels * maps > _MOST_FLOPS:
            if channels == maps == 1:
                return conv1d(draw)
            channels, maps = max(1, channels // 2), max(1, maps // 2)
        shapes = [[batch, channels, n], [maps, channels, taps]]
    return {"function": "conv1d", "shapes": shapes, "options": options} | _dtype(draw, options)


def linear(draw: random.Random) -> Case:
    """A layer of any number of rows."""
    rows = draw.choice([0, 1, 2, 3, 5, 17, log_uniform(draw, 1, 5000)])
    inputs, outputs = log_uniform(draw, 1, 20_000), log_uniform(draw, 1, 20_000)
    while 2 * max(rows, 1) * inputs * outputs > _MOST_FLOPS:
        inputs, outputs = max(1, inputs // 2), max(1, outputs // 3)
    options = {"activation": draw.choice(_ACTIVATIONS)}
    shapes = [[rows, inputs], [outputs, inputs], [outputs]]
    return {"function": "linear", "shapes": shapes, "options": options} | _dtype(draw, options)


def _dtype(draw: random.Random, options: dict[str, Any]) -> Case:
    double = "precision" not in options and draw.random() < 0.1
    return {"dtype": "float64" if double else "float32"}


DRAWS: tuple[Callable[[random.Random], Case], ...] = (conv2d, conv2d, conv1d, linear)
"""How cases are drawn, in turns."""


def drawn(shapes: int, seed: int) -> list[Case]:
    """The cases of a seed."""
    draw = random.Random(seed)
    return [DRAWS[k % len(DRAWS)](draw) for k in range(shapes)]


_ONE = """
import json, resource, sys, time
import numpy as np
import rooftile

def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

case = json.loads(sys.argv[1])
arrays = [np.ones(shape, case["dtype"]) for shape in case["shapes"]]
options = {k: tuple(v) if isinstance(v, list) else v for k, v in case["options"].items()}
if "pool" in options:
    options["pool"] = tuple(tuple(v) if isinstance(v, list) else v for v in options["pool"])
call = getattr(rooftile, case["function"])
before, found = megabytes(), []
for _ in range(2):
    start, wall = time.process_time(), time.perf_counter()
    try:
        y = call(*arrays, **options)
    except rooftile.errors.RooftileError as error:
        print(json.dumps({"refused": str(error)}))
        sys.exit()
    found.append((time.process_time() - start, time.perf_counter() - wall, megabytes() - before))
(first, wall, grown), (again, *_) = found
print(json.dumps({"s": first, "again_s": again, "wall_s": wall, "mb": grown - y.nbytes / 2**20}))
"""


def measured(case: Case, bytecode: str) -> dict[str, Any]:
    """What a case's first call takes, or why there is no time; ``bytecode`` is Python's folder."""
    with tempfile.TemporaryDirectory() as empty:
        environment = os.environ | {"ROOFTILE_CACHE": empty, "ROOFTILE_QUIET": "1"}
        # Python's bytecode is there, as an installation leaves it: the first case writes it.
        environment |= {"PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, "-c", _ONE, json.dumps(case)]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=_LIMIT_S
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"no end within {_LIMIT_S} s"}
    if done.returncode:
        return {"failed": f"status {done.returncode}: {done.stderr.strip()[-300:]}"}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _distribution(title: str, numbers: Sequence[float]) -> str:
    ordered = sorted(numbers)
    places = {"median": 0.5, "90 %": 0.9, "99 %": 0.99, "most": 1.0}
    told = (f"{at} {ordered[round(p * (len(ordered) - 1))]:.2f}" for at, p in places.items())
    return f"{title}: {', '.join(told)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--shapes", type=int, default=300)
    parser.add_argument("--seed", type=int, default=45)
    parser.add_argument("--seconds", type=float, default=1.5, help="the most that a call may take")
    parser.add_argument("--megabytes", type=float, default=300.0)
    options = parser.parse_args()
    begin, rows, over = time.perf_counter(), [], 0
    with tempfile.TemporaryDirectory() as bytecode:
        for case in drawn(len(DRAWS), options.seed):
            measured(case, bytecode)
        for case in drawn(options.shapes, options.seed):
            row = measured(case, bytecode)
            rows.append((case["function"], row))
            wrong = "failed" in row or row.get("s", 0) - row.get("again_s", 0) > options.seconds
            if wrong or row.get("mb", 0) > options.megabytes:
                over += 1
                print(json.dumps(case | row), flush=True)
    for function in ("conv2d", "conv1d", "linear"):
        of = [row for name, row in rows if name == function and "s" in row]
        title = f"{function}, {len(of)} shapes"
        if of:
            print(_distribution(f"{title}: seconds", [row["s"] - row["again_s"] for row in of]))
            print(_distribution(f"{title}: megabytes", [row["mb"] for row in of]))
    for refusal in sorted({row["refused"] for _, row in rows if "refused" in row}):
        print(f"refused: {refusal}")
    print(f"{len(rows)} shapes in {time.perf_counter() - begin:.0f} s")
    print(f"{over} over {options.seconds} s or {options.megabytes:g} MB, or failed")
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
