"""The base of the GPU strategies of `linear`: the macros that stand for the problem."""

from __future__ import annotations

from rooftile.ops import Linear
from rooftile.ops.features import features
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.weights import WeightedGpuStrategy
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.gemm.gpu.tiles import Product


class GpuLinear(WeightedGpuStrategy):
    """A GPU strategy of `linear`; takes every problem."""

    operation = "linear"
    takes = features("activation:*")

    def macros(self, problem: Linear, config: Config) -> dict[str, int | str]:
        return {
            "INPUTS": problem.inputs,
            "OUTPUTS": problem.outputs,
            "ACTIVATION": ACTIVATION_CODES[problem.activation],
            **config,
        }


class LinearProduct(Product, WeightedGpuStrategy):
    """A GPU strategy of `linear` in texts that multiply matrices; takes every problem."""

    operation = "linear"
    takes = features("activation:*")
    operands = ("x", "weights", "bias")

    def product(self, problem: Linear) -> Matmul:
        """x by the transposed weights."""
        return Matmul(problem.batch, problem.inputs, problem.outputs, transpose_b=True)

    def epilogue(self, problem: Linear) -> dict[str, int | str]:
        """A bias and the activation."""
        return {"BIASED": 1, "ACTIVATION": ACTIVATION_CODES[problem.activation]}
