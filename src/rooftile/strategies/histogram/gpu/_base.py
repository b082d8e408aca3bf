"""The base of the GPU strategies of `histogram`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rooftile.analysis.accesses import WARP, Accesses, apart, beside, stored_beside
from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.patterns.histogram import EDGES, Histogram
from rooftile.ops.problem import Dtype
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.operators import TYPES
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step

_KINDS: tuple[Dtype, ...] = ("uint8", "int32", "float32")
"""Dtypes whose even bins are told apart by an estimate in float32."""
_CORES = {"float16": "FLOAT16", "bfloat16": "BFLOAT16"}
CLEAR_THREADS = 256
_UNIT_ROUNDOFF = 2.0**-24
_ROUNDINGS = 4
"""Of the estimate: the distance, the scale, their product, the start."""
_MOST_WEIGHTED = 2**22
"""Weights that may be added one by one in float32: the error grows with their number."""


class GpuHistogram(GpuStrategy):
    """A GPU strategy of `histogram`: zeros, then persistent blocks."""

    operation = "histogram"
    takes = features("dtype:* edge_dtype:* edges weighted")
    wide_indices = True
    # Counts are the same in every run; sums of weights are not.
    atomic = True
    adds_alone = True
    """True if a bin may grow by all of its elements one after the other."""

    def limits(self, problem: Histogram) -> str | None:
        if problem.weighted and self.adds_alone and problem.count > _MOST_WEIGHTED:
            return f"{problem.count} weights, at most {_MOST_WEIGHTED} are added one by one"
        return None

    def macros(self, problem: Histogram, config: Config) -> dict[str, int | str]:
        narrow = _CORES.get(problem.dtype)
        return {
            "KIND": _kind(problem),
            "GIVEN": TYPES[problem.dtype],
            "BOUND": TYPES[_bound(problem)],
            "NARROW_GIVEN": int(narrow is not None),
            **({"CORES": narrow} if narrow else {}),
            "RULE": _rule(problem),
            "WEIGHTED": int(problem.weighted),
            "CLEAR_THREADS": CLEAR_THREADS,
            **config,
        }

    def persistent(self, problem: Histogram, config: Config, each: int = 1) -> int:
        """Blocks that keep the device busy, where a thread takes at least ``each`` elements."""
        wanted = config["BLOCKS"] * self.machine.multiprocessors
        return min(wanted, blocks(problem.count, config["BLOCK"] * each))

    def clearing(self, problem: Histogram, array: str = "", bins: int = 0) -> Step:
        bins = bins or problem.bins
        grid = (blocks(bins, CLEAR_THREADS), 1, 1)
        launch = Launch(self.kernel("clear"), grid, (CLEAR_THREADS, 1, 1))
        return Step(launch, (array or problem.output_arrays[0].name, bins))

    def counting(
        self, problem: Histogram, launch: Launch, *arrays: str, run: int | None = None
    ) -> Step:
        """The kernel that reads x: into the result, or into ``arrays``."""
        names = ("x", *(("weights",) if problem.weighted else ()))
        to = arrays or (problem.output_arrays[0].name,)
        lengths = (np.int64(problem.count), *(() if run is None else (np.int64(run),)))
        return Step(launch, (*names, *to, *lengths, *rule_arguments(problem)))

    def read(self, problem: Histogram, stride: int = 1, width: int = 1) -> Accesses:
        """Every element and its weight once, by threads that are ``stride`` elements apart."""
        arrays = problem.input_arrays
        sizes = [a.numpy.itemsize for a in arrays if a.size == problem.count]
        if stride > 1:
            return sum((apart(problem.count, stride, size) for size in sizes), Accesses())
        return sum((beside(problem.count, size, width) for size in sizes), Accesses())

    def zeros(self, problem: Histogram) -> Accesses:
        """The stores that clear the result."""
        return stored_beside(problem.bins, problem.output_arrays[0].numpy.itemsize)

    def flushed(self, bins: int, blocks_: int) -> Accesses:
        """Every block's own bins added to the result's: blocks take turns at each."""
        return Accesses(
            operations=bins * blocks_,
            atomics=bins * blocks_,
            shared_reads=bins * blocks_ / WARP,
            turns=blocks_,
            turns_if_equal=blocks_,
        )

    def plain(self, problem: Histogram, launch: Launch) -> tuple[Step, ...]:
        return self.clearing(problem), self.counting(problem, launch)


def _kind(problem: Histogram) -> int:
    return _KINDS.index(problem.dtype) if problem.dtype in _KINDS else len(_KINDS)


def _bound(problem: Histogram) -> Dtype:
    """The dtype of edges, and of the ends of even bins."""
    return problem.bound if problem.edges else EDGES[problem.dtype][0]


def _rule(problem: Histogram) -> int:
    if problem.edges:
        return 2
    if problem.dtype not in _KINDS:
        return 4
    if problem.unit:
        bytes_alone = (problem.dtype, problem.bins, problem.low) == ("uint8", 256, 0.0)
        return 3 if bytes_alone else 0
    return 1


def _scale(problem: Histogram) -> float:
    """Bins in a unit."""
    with np.errstate(over="ignore"):
        return float(np.float64(problem.bins) / np.float64(problem.high - problem.low))


def rule_arguments(problem: Histogram) -> tuple[Any, ...]:
    """The rule of bins, as ``bins.h`` takes it."""
    bins, low, high = problem.bins, float(problem.low), float(problem.high)
    if problem.edges:
        return bins, "edges"
    if _rule(problem) == 4:
        numbers = low, (high - low) / bins, high, _scale(problem)
        return (bins, *map(np.float64, numbers))
    if problem.unit:
        return (bins, int(low)) if _rule(problem) == 0 else (bins,)
    scale = bins / (high - low)
    if problem.dtype == "float32":
        ends: tuple[Any, ...] = np.float32(low), np.float32(high)
        start = 0.0
    else:
        limits = np.iinfo(np.int32)
        least, most = max(math.ceil(low), limits.min), min(math.floor(high), limits.max)
        ends = least, most
        start = (least - low) * scale
    slack = _UNIT_ROUNDOFF * (_ROUNDINGS * (bins + start) + max(abs(low), abs(high)) * scale)
    floats = map(np.float32, (start, scale, slack))
    return (
        bins,
        *ends,
        *floats,
        np.float64(low),
        np.float64((high - low) / bins),
        np.float64(high),
    )
