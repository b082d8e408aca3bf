"""How near CPU kernels come to the rate of FMAs, on one core, beside NumPy and PyTorch.

    python benchmarks/roof_shares.py [--write] [--only WORD]

Everybody runs on one thread and is timed by that thread's own clock, which stands while others
have the core.  A round times a kernel of nothing but FMAs, then each in turn: what the machine
gives at that moment, its frequency included, is in both.  ``--write`` keeps the record of this
processor, also what strategies take where new memory holds subnormal numbers, and writes
``docs/understand/roof.md``.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from roof_page import keep, write
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from unwritten_memory import best_times, cases

from rooftile.devices import cpu
from rooftile.devices.cpu.native import vector
from rooftile.lab.judge.verify import random_inputs
from rooftile.lab.measure.ceilings.cpu_kernels import fma_work
from rooftile.lab.measure.environment import environment, versions
from rooftile.ops import Conv2d, Layer, Linear, Pool, named
from rooftile.runtime.selection.choice import decide
from rooftile.strategies.conv2d.cpu.register_tile import choose_tile

SECONDS, LEAST = 2.0, 5
"""Of each problem, and rounds at least."""
SUBNORMAL = ("batch=200, channels=16", "mnist8 B=1000")
"""Words in the names of those that are timed on subnormal numbers."""

Record = dict[str, Any]
Calls = dict[str, Callable[[], object]]


def problems() -> dict[str, Layer]:
    """Convolutions and products that have enough work for each element to be bound by FMAs."""
    one, two, block = (1, 1), (2, 2), Pool.of("max", 2)
    found: dict[str, Layer] = {
        f"{name} B={batch}": _layer(name, batch)
        for name, batch in (("lenet-conv1", 100), ("lenet-conv2", 100))
    }
    return found | {
        "16 channels 3x3, 28x28 B=200": Conv2d(200, 16, 28, 28, 16, (3, 3), one, one),
        "16 channels 3x3, 28x28 B=4": Conv2d(4, 16, 28, 28, 16, (3, 3), one, one),
        "64 channels 3x3, 56x56": Conv2d(1, 64, 56, 56, 64, (3, 3), one, one, "relu"),
        "256 channels 5x5, 28x28": Conv2d(1, 256, 28, 28, 256, (5, 5), one, two, "relu", block),
        "mnist8 conv1 B=1000": Conv2d(1000, 1, 28, 28, 8, (5, 5), one, two, "relu"),
        "mnist8 linear1 B=1000": Linear(1000, 6272, 512, "relu"),
        "linear 512^3": Linear(512, 512, 512),
        "linear 1000^3": Linear(1000, 1000, 1000),
    }


def _layer(name: str, batch: int) -> Layer:
    problem = named("conv2d", name, batch)
    assert isinstance(problem, Layer)
    return problem


def contenders(problem: Layer) -> tuple[str, Calls]:
    """The strategy that is chosen, and a call of each by name."""
    choice = decide(problem)
    x, *parameters = random_inputs(problem, 0)
    out = np.empty(problem.output_shape, np.float32)
    bound = choice.strategy.bind(problem, parameters, cpu.open_device(1))
    calls: Calls = {"rooftile": partial(bound, x, out)}
    if isinstance(problem, Linear):
        b = np.ascontiguousarray(parameters[0].T)
        calls["NumPy"] = partial(np.matmul, x, b, out=out)
    if "torch" in sys.modules:
        calls["PyTorch"] = _torch(problem, x, parameters)
    return choice.strategy.name, calls


def _torch(problem: Layer, x: Any, parameters: Any) -> Callable[[], object]:
    import torch

    given, weights, bias = map(torch.from_numpy, (x, *parameters))
    if isinstance(problem, Linear):
        return partial(torch.nn.functional.linear, given, weights, bias)
    assert isinstance(problem, Conv2d)
    options = {"stride": problem.stride, "padding": problem.padding}
    return partial(torch.nn.functional.conv2d, given, weights, bias, **options)


def shares(label: str, problem: Layer) -> Record:
    """Medians over rounds of each one's share of the rate of FMAs, and the best milliseconds."""
    strategy, calls = contenders(problem)
    # Of fewer units, what a call itself takes would make the roof look some per cent lower.
    fma, work = fma_work(64, 1)
    for call in (fma, *calls.values()):
        call()
    found: dict[str, list[float]] = {name: [] for name in calls}
    best = dict.fromkeys(calls, float("inf"))
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS or len(found["rooftile"]) < LEAST:
        for name, call in calls.items():
            roof = work / min(_seconds(fma) for _ in range(3))
            call()
            taken = min(_seconds(call) for _ in range(2))
            best[name] = min(best[name], 1e3 * taken)
            found[name].append(problem.flops / taken / roof)
    medians = {name: float(np.median(values)) for name, values in found.items()}
    lanes = _lanes_used(problem) if strategy == "register_tile" else 1.0
    row = {"label": label, "strategy": strategy, "lanes": lanes}
    return {**row, "shares": medians, "best_ms": best}


def _lanes_used(problem: Layer) -> float:
    """The share of lanes that columns of a convolution's rows fill."""
    assert isinstance(problem, Conv2d)
    (rows, columns), wide = problem.conv_read, vector.lanes()
    tile = choose_tile(problem.with_batch(1))
    if tile.flat:
        return rows * columns / (tile.bands * tile.vectors * wide)
    return columns / (-(-columns // wide) * wide)


def _seconds(call: Callable[[], object]) -> float:
    before = time.thread_time()
    call()
    return time.thread_time() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="keep the record, write the page")
    parser.add_argument("--only", default="", help="problems whose name holds this word")
    options = parser.parse_args()
    try:
        import torch

        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
    except ImportError:
        print("without PyTorch")
    rows = []
    with threadpool_limits(limits=1):
        for label, problem in problems().items():
            if options.only in label:
                rows.append(shares(label, problem))
                print(label, {k: round(v, 3) for k, v in rows[-1]["shares"].items()}, flush=True)
    if options.write:
        subnormal = [
            {"label": name.partition(" Conv2d")[0], **best_times(bind, x, shape)}
            for name, bind, x, shape in cases()
            if any(word in name for word in SUBNORMAL)
        ]
        record: Record = {
            "environment": dataclasses.asdict(environment()),
            "versions": versions(PACKAGES),
        }
        record |= {"rows": rows, "subnormal": subnormal}
        keep(record)
        write()


PACKAGES = ("numpy", "llvmlite", "torch")

if __name__ == "__main__":
    main()
