"""The base of the GPU strategies of `linear_cross_entropy`: macros and the arguments' order."""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.linear_cross_entropy import LinearCrossEntropy
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, GpuStrategy, Step, Tunable

_LANES = 16
"""Threads that join their sums to a score."""
_MOST_INPUTS, _MOST_OUTPUTS = 2048, 32
_MOST_PRODUCTS = 2**23
"""Of the last layer and all images; beyond these large products of matrices take less time."""
MOST_ITEMS = 8
MOST_HELD = 2048
"""float32 of an array in shared memory."""


class GpuLinearCrossEntropy(GpuStrategy):
    """A GPU strategy of `linear_cross_entropy`."""

    operation = "linear_cross_entropy"

    def macros(self, problem: LinearCrossEntropy, config: Config) -> dict[str, int | str]:
        return {
            "INPUTS": problem.inputs,
            "OUTPUTS": problem.outputs,
            "BEFORE": ACTIVATION_CODES[problem.before],
            "DIVISOR": f"{float(problem.images)!r}f",
            "SCALED": int(problem.scaled),
            **config,
        }


class OfItems(GpuLinearCrossEntropy):
    """A strategy whose blocks make everything of ITEMS items."""

    tunables = (Tunable("ITEMS", (1, 2, 4, 8), 1),)

    def limits(self, problem: LinearCrossEntropy) -> str | None:
        for name, most in (("inputs", _MOST_INPUTS), ("outputs", _MOST_OUTPUTS)):
            if getattr(problem, name) > most:
                return f"{getattr(problem, name)} {name}, at most {most}"
        return None

    def pays(self, problem: LinearCrossEntropy) -> bool:
        """See `Strategy.pays`: tiles of matrices make more products sooner."""
        return problem.products <= _MOST_PRODUCTS

    def defaults(self, problem: LinearCrossEntropy) -> dict[str, int]:
        """As few items a block as leave no multiprocessor idle."""
        items, most = 1, min(self.most_items(problem), MOST_ITEMS)
        while 2 * items <= most and items * self.machine.multiprocessors < problem.images:
            items *= 2
        return {"ITEMS": items}

    def invalid(self, problem: LinearCrossEntropy, config: Config) -> str | None:
        most = max(1, self.most_items(problem))
        return f"{config['ITEMS']} items, at most {most}" if config["ITEMS"] > most else None

    def most_items(self, problem: LinearCrossEntropy) -> int:
        """Items whose inputs shared memory holds."""
        return MOST_HELD // problem.inputs

    def macros(self, problem: LinearCrossEntropy, config: Config) -> dict[str, int | str]:
        more = {"LANES": _LANES, "SETTLED": int(problem.settled)}
        return {**super().macros(problem, config), **more}

    def launched(
        self, problem: LinearCrossEntropy, config: Config, block: tuple[int, int, int]
    ) -> tuple[Step, ...]:
        """One kernel, which is given all arrays in their order."""
        grid = (blocks(problem.images, config["ITEMS"]), 1, 1)
        launch = Launch(self.kernel(), grid, block, overlaps=True)
        names = (array.name for array in problem.arrays)
        return (Step(launch, (*names, np.int32(problem.images))),)
