"""The base of the GPU strategies of `linear_weights_gradient`: the macros, and the arguments."""

from __future__ import annotations

from rooftile.ops.features import features
from rooftile.ops.gradients.linear_weights_gradient import LinearWeightsGradient
from rooftile.strategies.contract.gpu import Config, GpuStrategy

_MOST = 2**31 - 4096
"""Parameters that an index of 32 bits reaches, with a block beyond the last one."""


class GpuLinearWeightsGradient(GpuStrategy):
    """A GPU strategy of `linear_weights_gradient`."""

    operation = "linear_weights_gradient"
    takes = features("features")

    def limits(self, problem: LinearWeightsGradient) -> str | None:
        count = problem.parameters
        return f"{count} parameters, at most {_MOST}" if count > _MOST else None

    def macros(self, problem: LinearWeightsGradient, config: Config) -> dict[str, int | str]:
        return {
            "FEATURES": problem.features,
            "INPUTS": problem.inputs,
            "OUTPUTS": problem.outputs,
            **config,
        }


def read(problem: LinearWeightsGradient) -> tuple[str, ...]:
    """Names of x and dz of both layers; a single layer's stand for the layer before, which is not
    read."""
    return _twice(problem, "x", "dz")


def written(problem: LinearWeightsGradient) -> tuple[str, ...]:
    """The same of dweights and dbias."""
    return _twice(problem, "dweights", "dbias")


def _twice(problem: LinearWeightsGradient, *names: str) -> tuple[str, ...]:
    return (*(f"first_{name}" if problem.features else name for name in names), *names)
