"""`implicit_gemm_ieee`: Hopper's implicit matrix product with float32's error."""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d, Float32
from rooftile.strategies.common.scaled import split_macros
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.contract.gpu import Config, Step
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, blocks
from rooftile.strategies.conv2d.gpu.implicit_gemm.implicit_gemm import PACK_THREADS, ImplicitGemm

_MEASURE_THREADS = 1024


class ImplicitGemmIeee(ImplicitGemm):
    """A number is split in two of float16, three products stand for one, and the cores sum up
    little at a time."""

    name = "implicit_gemm_ieee"
    source = "implicit_gemm_ieee"
    numbers = 2
    sums = 3
    # Split, a chunk of channels is filled up at three times the cost.
    summary = "an implicit matrix product on warpgroups, float32 as two numbers of scaled float16"

    def limits(self, problem: Conv2d) -> str | None:
        return super().limits(problem) or too_short(problem.reduction)

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        macros = super().macros(problem, config) | split_macros(problem.reduction)
        return macros | {"MEASURE_THREADS": _MEASURE_THREADS, "SHARES": _shares(problem)}

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """Also a range for each map's weights, and a range for each image and each of its shares.
        Each of these takes two numbers; one says whether a result is in doubt."""
        spaces = {"weight_ranges": problem.maps, "ranges": problem.batch}
        spaces["partials"] = _shares(problem) * problem.batch
        more = {name: 2 * n for name, n in spaces.items()} | {"doubts": 1}
        return super().workspace(problem, config) | more

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        return np.concatenate([super().pack(problem, weights, config).ravel(), weights.ravel()])

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        measure = Launch(self.kernel("measure_weights"), (problem.maps, 1, 1), (PACK_THREADS, 1, 1))
        (pack,) = super().preparation(problem, config)
        weights, stages, count = pack.arguments
        return (
            Step(measure, (weights, "weight_ranges")),
            Step(pack.launch, (weights, "weight_ranges", stages, count)),
        )

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        pack, multiply, maps = self._launches(problem, config)
        images = problem.batch
        grid = (_shares(problem), min(images, MOST_BLOCKS), 1)
        measure = Launch(self.kernel("measure"), grid, (_MEASURE_THREADS, 1, 1))
        results = blocks(math.prod(problem.output_shape), 256)
        resident = 8 * self.machine.multiprocessors
        repair = Launch(self.kernel("repair"), (min(results, resident), 1, 1), (256, 1, 1))
        return (
            Step(measure, ("x", "partials", "doubts", images)),
            Step(pack, ("x", "partials", "ranges", "packed", images)),
            Step(multiply, (*maps, "weight_ranges", "ranges", "bias", "out", "doubts", images)),
            Step(repair, ("x", "weights", "bias", "doubts", "out", images)),
        )


def _shares(problem: Conv2d) -> int:
    """Number of an image's shares that are measured, a block each. The packing kernel has a thread
    for each of them."""
    return min(PACK_THREADS, blocks(math.prod(problem.input_shape[1:]), 4 * _MEASURE_THREADS))


STRATEGY = ImplicitGemmIeee()
