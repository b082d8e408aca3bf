"""The base of the GPU strategies of `linear`: the macros that stand for the problem."""

from __future__ import annotations

from rooftile.ops import Linear
from rooftile.ops.features import features
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.weights import WeightedGpuStrategy
from rooftile.strategies.contract.gpu import Config
from rooftile.strategies.gemm.gpu.tiles import Product

_FEW_IMAGES = 8
"""Up to so many images, a team of threads an output reads the weights once; tiles stay empty."""
_SOME_IMAGES, _FEW_PRODUCTS = 1024, 2**22
"""Up to so many images it still pays where there are so few multiplications in all."""
_FEW = f"{_FEW_IMAGES} images, or {_FEW_PRODUCTS} multiplications"


def pays_for_few(problem: Linear) -> str | None:
    """Why a team of threads an output is slower than tiles of a product; None where it pays."""
    return None if _few(problem) else f"it pays up to {_FEW}"


def pays_for_many(problem: Linear) -> str | None:
    """Why tiles of a product are slower than a team of threads an output; None where they pay."""
    return f"it pays beyond {_FEW}" if _few(problem) else None


def _few(problem: Linear) -> bool:
    products = problem.batch * problem.inputs * problem.outputs
    some = problem.batch <= _SOME_IMAGES and products <= _FEW_PRODUCTS
    return some or problem.batch <= _FEW_IMAGES


class GpuLinear(WeightedGpuStrategy):
    """A GPU strategy of `linear`; takes every problem."""

    operation = "linear"
    takes = features("activation:*")

    def macros(self, problem: Linear, config: Config) -> dict[str, int | str]:
        """The problem's sizes and the tunables."""
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
