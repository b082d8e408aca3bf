"""Rungs on Hopper's warpgroups: the kernels of `linear`, behind kernels that lay b."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch, TensorMap
from rooftile.ops import Linear
from rooftile.ops.matmul import Matmul
from rooftile.strategies.common.product_accesses import laid
from rooftile.strategies.gpu import Config, Step
from rooftile.strategies.linear.gpu.warpgroups.warpgroups import STRATEGIES as LAYERS
from rooftile.strategies.linear.gpu.warpgroups.warpgroups import THREADS
from rooftile.strategies.linear.gpu.warpgroups.warpgroups import Warpgroups as LinearWarpgroups
from rooftile.strategies.matmul.gpu._base import GpuMatmul
from rooftile.strategies.matmul.gpu._turn import turning, turning_accesses

_LEAST_ROWS, _LEAST_PRODUCTS = 256, 2**24
"""With about so many rows, and products in all, to lay b begins to save more than it takes: at
256^3 on an H200 a copy of b and linear's warpgroups took 6 us at fp16, mma 16."""
_SLICE = 32
"""Terms of a slice: 128 bytes of float32."""


class Warpgroups(GpuMatmul):
    """Takes sums of whole 16 bytes; a transposed a is turned before."""

    name = "warpgroups_{precision}"
    summary = "Hopper's warpgroups, b turned and rounded to {numbers} in one pass before"
    devices = ("cuda",)
    architectures = ("sm_90",)
    tensor_cores = True
    tunables = LinearWarpgroups.tunables
    layer: LinearWarpgroups
    """The rung of linear whose kernels these are."""

    def limits(self, problem: Matmul) -> str | None:
        """What linear refuses."""
        return super().limits(problem) or self.layer.why_not(as_layer(problem))

    def why_slow(self, problem: Matmul) -> str | None:
        """See `few_products`."""
        return few_products(problem)

    def defaults(self, problem: Matmul) -> dict[str, int]:
        """Those of linear."""
        return self._placed.defaults(as_layer(problem))

    def invalid(self, problem: Matmul, config: Config) -> str | None:
        """See the rung of linear."""
        return self._placed.invalid(as_layer(problem), config)

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        """Those of linear, without a bias, and how b lies."""
        return {
            **self._placed.macros(as_layer(problem), config),
            "UNBIASED": 1,
            "WEIGHTS_BY_INPUT": int(not problem.transpose_b),
        }

    def workspace(self, problem: Matmul, config: Config) -> dict[str, int]:
        """That of linear, and a turned."""
        arrays = self._placed.workspace(as_layer(problem), config)
        return arrays | ({"turned": problem.rows * problem.inner} if problem.transpose_a else {})

    def steps(self, problem: Matmul, config: Config) -> tuple[Step, ...]:
        """Turn a where it lies transposed, and lay b; then the kernels of linear."""
        sizes: Any = self._placed.macros(as_layer(problem), config)
        planes = sizes["PADDED_OUTPUTS"] // config["TILE_O"] * (sizes["PADDED_INPUTS"] // _SLICE)
        laying = self.laying(problem, Launch(self.kernel("lay"), (planes, 1, 1), (THREADS, 1, 1)))
        # There is no bias, so none is read.
        names = {"x": "turned" if problem.transpose_a else "a", "weights": "b"}
        named = {**names, "bias": np.uint64(0)}
        product = self._placed.steps(as_layer(problem), config)
        return (
            *((turning(self, problem.arrays[0], "turned"),) if problem.transpose_a else ()),
            *laying,
            *(replace(step, arguments=_renamed(step.arguments, named)) for step in product),
        )

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """Those of linear; a turned, and b laid, element by element."""
        sizes: Any = self._placed.macros(as_layer(problem), config)
        made, b = sizes["PADDED_OUTPUTS"] * sizes["PADDED_INPUTS"], problem.arrays[1].size
        numbers, cores = self._placed.tile.numbers, self._placed.cores
        found = {**self._placed.accesses(as_layer(problem), config)}
        found[self.kernel("lay")] = laid(b, numbers * made, cores.bytes)
        if problem.transpose_a:
            found[self.kernel("turn")] = turning_accesses(problem.arrays[0])
        return found

    def laying(self, problem: Matmul, lay: Launch) -> tuple[Step, ...]:
        """What comes before the product."""
        return (Step(lay, ("b", "rounded")),)

    @property
    def _placed(self) -> LinearWarpgroups:
        return self.layer.on(self.machine)


def few_products(problem: Matmul) -> str | None:
    """Why passes over both matrices take longer than they save; None where they pay."""
    products = problem.rows * problem.inner * problem.columns
    few = problem.rows < _LEAST_ROWS or products < _LEAST_PRODUCTS
    return f"it pays from {_LEAST_ROWS} rows and {_LEAST_PRODUCTS} products on" if few else None


def as_layer(problem: Matmul) -> Linear:
    """The layer that multiplies so: a is its input, b its weights."""
    return Linear(problem.rows, problem.inner, problem.columns)


def _renamed(arguments: tuple[Any, ...], names: dict[str, Any]) -> tuple[Any, ...]:
    """Arguments of linear's step as they are called here."""

    def renamed(argument: Any) -> Any:
        if isinstance(argument, TensorMap):
            return replace(argument, array=names[argument.array])
        return names.get(argument, argument) if isinstance(argument, str) else argument

    return tuple(map(renamed, arguments))


def _with(layer: LinearWarpgroups) -> Warpgroups:
    member = Warpgroups().at(layer.precision)
    member.layer = layer
    # Its operands are laid in a pass before, from float32.
    member.narrow = ""
    return member


STRATEGIES = tuple(map(_with, LAYERS))
