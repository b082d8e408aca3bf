"""Time each CPU strategy with subnormal numbers in its new memory against zeros there.

    python benchmarks/unwritten_memory.py [--only WORD]

A strategy that computes on memory that nobody wrote is right all the same, but some
processors take many cycles for a subnormal number.  All runs on one thread and is timed by
that thread's own clock, which stands while others have the core.  Ends with an error where
the best times differ by more than noise.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu import memory
from rooftile.lab.judge.verify import random_inputs
from rooftile.lab.measure.environment import environment
from rooftile.nn import Network, architecture
from rooftile.nn.cpu_plan import CpuPlan
from rooftile.ops import AnyArray, Conv2d, Float32, Layer, Linear, Pool, Pool2d, Softmax
from rooftile.strategies import ladder

NOISE = 1.25
"""A strategy that takes more than so many times as long as with zeros is slower."""
ROUNDS, SECONDS = 20, 2.0
"""Calls of each, at most, and about how long they take together."""
CONTENTS = {"zeros": 0.0, "subnormal": 1e-40}
PROBLEMS: tuple[Layer, ...] = (
    Conv2d(200, 16, 28, 28, 16, (3, 3), padding=(1, 1)),
    # Rows of a transform that end short of their last vector; maps that fill no block.
    Conv2d(100, 2, 27, 25, 11, (7, 7), padding=(3, 0), pool=Pool.of("max", 2)),
    Linear(100, 300, 70),
    Pool2d(100, 3, 27, 27, Pool.of("average", 3, 2)),
    Softmax(1000, 10),
)
NETWORKS = (("lenet5", 1000), ("mnist8", 1000))

Bound = Callable[[Float32, Float32], object]
Case = tuple[str, Callable[[], Bound], Float32, tuple[int, ...]]
"""A name, what binds, an input, and the shape of its result."""


@contextlib.contextmanager
def new_memory_holds(value: float) -> Iterator[None]:
    """Fill what the CPU's strategies allocate inside."""
    aligned = memory.aligned

    def filled(*arguments: Any) -> AnyArray:
        array = aligned(*arguments)
        array.fill(value)
        return array

    with mock.patch.object(memory, "aligned", filled):
        yield


def cases() -> Iterator[Case]:
    for problem in PROBLEMS:
        x, *parameters = random_inputs(problem, 0)
        for rung in ladder(problem.operation):
            if rung.why_not(problem) is None:
                bind = partial(rung.bind, problem, parameters, cpu.open_device(1))
                yield f"{rung.name} {problem}", bind, x, problem.output_shape
    for model, batch in NETWORKS:
        network = architecture(model).initialise(0)
        x = np.random.default_rng(0).standard_normal((batch, *network.input_shape), np.float32)
        yield f"{model} B={batch}", partial(plan, network, batch), x, (batch, *network.output_shape)


def plan(network: Network, batch: int) -> Bound:
    made = CpuPlan(network, batch, threads=1)
    return lambda x, out: made(x, out=out)


def best_times(bind: Callable[[], Bound], x: Float32, shape: tuple[int, ...]) -> dict[str, float]:
    """Milliseconds of the thread's time by what new memory held, measured in turns."""
    calls, best = {}, dict.fromkeys(CONTENTS, math.inf)
    for name, value in CONTENTS.items():
        with new_memory_holds(value):
            bound, out = bind(), np.full(shape, value, np.float32)
            bound(x, out)
        calls[name] = partial(bound, x, out)
    start = time.perf_counter()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            before = time.thread_time()
            call()
            best[name] = min(best[name], 1e3 * (time.thread_time() - before))
        if time.perf_counter() - start > SECONDS:
            break
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="those whose line holds this word")
    only = parser.parse_args().only
    print(environment().cpu)
    slower = []
    for name, bind, x, shape in cases():
        if only not in name:
            continue
        times = best_times(bind, x, shape)
        ratio = times["subnormal"] / times["zeros"]
        print(f"{times['zeros']:9.3f} ms, subnormal {ratio:6.2f}x  {name}", flush=True)
        if ratio > NOISE:
            slower.append(name)
    if slower:
        raise SystemExit("slower with subnormal numbers in new memory:\n" + "\n".join(slower))


if __name__ == "__main__":
    main()
