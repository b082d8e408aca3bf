"""`turned_ieee`: the turned product on Hopper's warpgroups, with float32's error. Source: for the
split products Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while
surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch, TensorMap
from rooftile.ops import Linear
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.product_accesses import laid
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.gemm.gpu.warpgroups.product import THREADS
from rooftile.strategies.gemm.gpu.warpgroups.split import SplitProduct
from rooftile.strategies.gemm.gpu.warpgroups.tiles import Shares
from rooftile.strategies.matmul.gpu._base import GpuMatmul

_PIECE = 4
"""float32 of 16 bytes, in which the copy engine counts lines."""
_WARPGROUPS = 2
"""The most of a block: threads of more would have too few registers."""
_BOX = 32
"""Terms, and columns, of a box of b whose lines are terms."""


class TurnedIeee(SplitProduct, GpuMatmul):
    """Takes a b whose lines are whole 16 bytes; blocks on their own, of few warpgroups, whose
    registers hold all."""

    name = "turned_ieee"
    margin = 2.0
    """Parts of sums that are zero, as after relu, are computed anew: a product of a training step
    took 51 us instead of the estimated 20."""
    tunables = (
        Tunable("WARPGROUPS", (1, _WARPGROUPS), _WARPGROUPS),
        *(one for one in SplitProduct.tunables if one.name not in ("WARPGROUPS", "CLUSTER")),
    )
    summary = "Hopper's warpgroups, b split on its way to the cores, for few rows"

    def limits(self, problem: Matmul) -> str | None:
        line = problem.arrays[1].shape[1]
        if line % _PIECE:
            return f"b has lines of {line}: it takes multiples of {_PIECE}"
        # Terms may lie across lines, so they need not be whole 16 bytes.
        return too_short(problem.inner) or GpuMatmul.limits(self, problem)

    def _candidates(self, problem: Matmul) -> list[dict[str, int]]:
        found = super()._candidates(problem)
        chosen = (one for one in found if one.pop("CLUSTER") == 1)
        return [one for one in chosen if one["WARPGROUPS"] <= _WARPGROUPS]

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        return {
            **super().macros(problem, config),
            "UNBIASED": 1,
            "OVERLAPS": 1,
            "TURNED": 1,
            "IMAGES": problem.columns,
            "X_ACROSS": int(not problem.transpose_b),
            "WEIGHTS_BY_INPUT": int(problem.transpose_a),
        }

    def layer(self, problem: Matmul) -> Linear:
        """b turned is its input, a its weights."""
        return Linear(problem.columns, problem.inner, problem.rows)

    def names(self, problem: Matmul) -> Mapping[str, Any]:
        """See `layer`; there is no bias, so none is read."""
        return {"x": "b", "weights": "a", "bias": np.uint64(0)}

    def rows(self, problem: Matmul, shares: Shares) -> TensorMap:
        """Columns of b, or the lines of b."""
        rows = super().rows(problem, shares)
        if problem.transpose_b:
            return rows
        return replace(rows, shape=problem.arrays[1].shape, box=(_BOX, _BOX))

    def steps(self, problem: Matmul, config: Config) -> tuple[Step, ...]:
        shares = self.shares(problem, config)
        grid = (shares.across * shares.tile.outputs, 1, 1)
        split = Launch(self.kernel("split_rows"), grid, (THREADS, 1, 1))
        steps = Step(split, ("a", "row_scales", "numbers")), *super().steps(problem, config)
        return tuple(replace(step, launch=replace(step.launch, overlaps=True)) for step in steps)

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """And a block reads its row of a twice, for its scale and to split it."""
        shares = self.shares(problem, config)
        tile = shares.tile
        made = tile.numbers * shares.across * tile.outputs * shares.slices * tile.slice
        split = laid(2 * problem.arrays[0].size, made, tile.cores.bytes)
        return {**super().accesses(problem, config), self.kernel("split_rows"): split}


STRATEGY = TurnedIeee()
