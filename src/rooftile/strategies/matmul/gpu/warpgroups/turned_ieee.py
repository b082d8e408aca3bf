"""`turned_ieee`: the turned product on Hopper's warpgroups, with float32's error.

Source: for the split products Ootomo and Yokota, "Recovering single precision accuracy from
Tensor Cores while surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch, TensorMap
from rooftile.ops import Linear
from rooftile.ops.matmul import Matmul
from rooftile.strategies.common.product_accesses import laid
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.linear.gpu.warpgroups.warpgroups import THREADS
from rooftile.strategies.linear.gpu.warpgroups.warpgroups_ieee import WarpgroupsIeee
from rooftile.strategies.matmul.gpu._base import GpuMatmul, few_terms

_LEAST_ROWS, _FEW_ROWS, _MOST_PRODUCTS = 9, 256, 2**30
"""Fewer rows are for `few_rows`; with many rows and products to lay b before takes no time that
counts."""
_PIECE = 4
"""float32 of 16 bytes, in which the copy engine counts lines."""
_WARPGROUPS = 2
"""The most of a block: threads of more would have too few registers."""
_BOX = 32
"""Terms, and columns, of a box of b whose lines are terms."""


class _Layer(WarpgroupsIeee):
    """The rung of linear whose kernels these are."""

    family = "turned_ieee"
    tunables = (
        Tunable("WARPGROUPS", (1, _WARPGROUPS), _WARPGROUPS),
        *(one for one in WarpgroupsIeee.tunables if one.name not in ("WARPGROUPS", "CLUSTER")),
    )

    def _candidates(self, problem: Linear) -> list[dict[str, int]]:
        """Blocks on their own, of so few warpgroups that registers hold all."""
        found = super()._candidates(problem)
        return [one for one in found if one["CLUSTER"] == 1 and one["WARPGROUPS"] <= _WARPGROUPS]


_LAYER = _Layer()


class TurnedIeee(GpuMatmul):
    """Takes a b whose lines are whole 16 bytes."""

    name = "turned_ieee"
    devices = ("cuda",)
    architectures = ("sm_90",)
    tensor_cores = True
    tunables = _LAYER.tunables
    summary = "Hopper's warpgroups, b split on its way to the cores, for few rows"

    def limits(self, problem: Matmul) -> str | None:
        """Lines that the copy engine cannot bring, and short sums: their budgets have no room for
        the split's error."""
        line = problem.arrays[1].shape[1]
        if line % _PIECE:
            return f"b has lines of {line}: it takes multiples of {_PIECE}"
        return too_short(problem.inner) or super().limits(problem)

    def why_slow(self, problem: Matmul) -> str | None:
        """Few products, or terms, very few rows; many rows and products; and an a that lies
        transposed, as gradients do: of sums over images that differ by many powers of ten, some are
        in doubt, and with terms a line apart each takes 0.1 ms."""
        if problem.transpose_a:
            return "a lies transposed: results in doubt would take long"
        many = problem.rows > _FEW_ROWS and problem.flops > 2 * _MOST_PRODUCTS
        if problem.rows < _LEAST_ROWS or many:
            most = f"{_FEW_ROWS} rows or {_MOST_PRODUCTS} products"
            return f"it pays from {_LEAST_ROWS} rows on, up to {most}"
        return few_terms(problem)

    def defaults(self, problem: Matmul) -> dict[str, int]:
        """Those of linear for the turned product."""
        found = self._layer.defaults(_turned(problem))
        return {name: value for name, value in found.items() if name != "CLUSTER"}

    def invalid(self, problem: Matmul, config: Config) -> str | None:
        """See the rung of linear."""
        return self._layer.invalid(_turned(problem), {**config, "CLUSTER": 1})

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        """Those of linear, without a bias, and how both matrices lie."""
        return {
            **self._layer.macros(_turned(problem), {**config, "CLUSTER": 1}),
            "UNBIASED": 1,
            "OVERLAPS": 1,
            "TURNED": 1,
            "IMAGES": problem.columns,
            "X_ACROSS": int(not problem.transpose_b),
            "WEIGHTS_BY_INPUT": int(problem.transpose_a),
        }

    def workspace(self, problem: Matmul, config: Config) -> dict[str, int]:
        """That of linear."""
        return self._layer.workspace(_turned(problem), {**config, "CLUSTER": 1})

    def steps(self, problem: Matmul, config: Config) -> tuple[Step, ...]:
        """Split and lay a; then the kernels of linear.  Each launch overlaps the one before."""
        layer, config = _turned(problem), {**config, "CLUSTER": 1}
        rows: Any = self._layer.macros(layer, config)["PADDED_OUTPUTS"]
        split = Step(
            Launch(self.kernel("split_rows"), (rows, 1, 1), (THREADS, 1, 1)),
            ("a", "row_scales", "numbers"),
        )
        steps = (split, *self._layer.steps(layer, config))
        return tuple(
            replace(
                step,
                launch=replace(step.launch, overlaps=True),
                arguments=tuple(_of_product(problem, step.arguments)),
            )
            for step in steps
        )

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """Those of linear; a block reads its row of a twice, for its scale and to split it."""
        layer, config = _turned(problem), {**config, "CLUSTER": 1}
        sizes: Any = self._layer.macros(layer, config)
        made = self._layer.tile.numbers * sizes["PADDED_OUTPUTS"] * sizes["PADDED_INPUTS"]
        split = laid(2 * problem.arrays[0].size, made, self._layer.cores.bytes)
        return {**self._layer.accesses(layer, config), self.kernel("split_rows"): split}

    @property
    def _layer(self) -> WarpgroupsIeee:
        return _LAYER.on(self.machine)


def _turned(problem: Matmul) -> Linear:
    """The layer that multiplies so: b turned is its input, a its weights."""
    return Linear(problem.columns, problem.inner, problem.rows)


def _of_product(problem: Matmul, arguments: tuple[Any, ...]) -> Iterator[Any]:
    """Arguments of linear's step as they are called here; there is no bias, so none is read."""
    names: dict[Any, Any] = {"x": "b", "weights": "a", "bias": np.uint64(0)}
    for argument in arguments:
        if not isinstance(argument, TensorMap):
            yield names.get(argument, argument) if isinstance(argument, str) else argument
        elif problem.transpose_b:
            yield replace(argument, array="b")
        else:
            yield replace(argument, array="b", shape=problem.arrays[1].shape, box=(_BOX, _BOX))


STRATEGY = TurnedIeee()
