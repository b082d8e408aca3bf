"""Rungs on Hopper's warpgroups: the kernels of `linear`, behind kernels that lay b."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from rooftile.devices.gpu import Launch, TensorMap
from rooftile.ops import Linear
from rooftile.ops.matmul import Matmul
from rooftile.strategies.gpu import Config, Step
from rooftile.strategies.linear.gpu.warpgroups._base import THREADS
from rooftile.strategies.linear.gpu.warpgroups._base import Warpgroups as LinearWarpgroups
from rooftile.strategies.matmul.gpu._base import GpuMatmul

_FEW_ROWS = 384
"""Up to about so many rows, to lay b takes longer than it saves."""
_NAMES: dict[str, Any] = {"x": "a", "weights": "b", "bias": np.uint64(0)}
"""What the arrays of linear are called here; there is no bias, so none is read."""


class Warpgroups(GpuMatmul):
    """Takes rows of whole 16 bytes of an a that is not transposed."""

    devices = ("cuda",)
    architectures = ("sm_90",)
    tensor_cores = True
    summing = "linear"
    layer: ClassVar[LinearWarpgroups]
    """The rung of linear whose kernels these are."""

    def why_not(self, problem: Matmul) -> str | None:
        """A transposed a, whose rows the copy engine cannot bring; and what linear refuses."""
        if problem.transpose_a:
            return "a lies transposed: the copy engine brings rows of it"
        return super().why_not(problem) or self.layer.why_not(as_layer(problem))

    def why_slow(self, problem: Matmul) -> str | None:
        """Few rows."""
        few = f"to lay b pays beyond {_FEW_ROWS} rows"
        return few if problem.rows <= _FEW_ROWS else None

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
        """That of linear."""
        return self._placed.workspace(as_layer(problem), config)

    def steps(self, problem: Matmul, config: Config) -> tuple[Step, ...]:
        """Lay b, then the kernels of linear."""
        sizes: Any = self._placed.macros(as_layer(problem), config)
        planes = sizes["PADDED_OUTPUTS"] // config["TILE_O"] * (sizes["PADDED_INPUTS"] // _SLICE)
        product = self._placed.steps(as_layer(problem), config)
        return (
            *self.laying(problem, Launch("lay", (planes, 1, 1), (THREADS, 1, 1))),
            *(replace(step, arguments=tuple(map(_renamed, step.arguments))) for step in product),
        )

    def laying(self, problem: Matmul, lay: Launch) -> tuple[Step, ...]:
        """What comes before the product."""
        return (Step(lay, ("b", "rounded")),)

    @property
    def _placed(self) -> LinearWarpgroups:
        return self.layer.on(self.machine)


_SLICE = 32
"""Terms of a slice: 128 bytes of float32."""


def as_layer(problem: Matmul) -> Linear:
    """The layer that multiplies so: a is its input, b its weights."""
    return Linear(problem.rows, problem.inner, problem.columns)


def _renamed(argument: Any) -> Any:
    if isinstance(argument, TensorMap):
        return replace(argument, array=_NAMES[argument.array])
    return _NAMES.get(argument, argument) if isinstance(argument, str) else argument
