"""The base of the CPU's strategies of `mlp_training`."""

from __future__ import annotations

from abc import abstractmethod

from rooftile.devices.cpu.native import Native, last_kernels, source
from rooftile.ops.activation import ACTIVATIONS
from rooftile.ops.features import features
from rooftile.ops.gradients.mlp_training import MlpTraining
from rooftile.strategies import ArrayKernel, ArrayStrategy
from rooftile.strategies.common.activation_texts import scalar_functions

HEAD = "def kernel(x, targets, order, rates, weights, trained, losses, sizes, begin, end):"
FUNCTIONS = scalar_functions()
"""The functions that values and slopes call."""


def value_of(name: str, z: str) -> str:
    """The expression of an activation of a number z; softmax is of a whole layer."""
    return ACTIVATIONS[name].scalar.format(z=z)


def slope_of(name: str, z: str, y: str) -> str:
    """The expression of the derivative at z, where the value is y."""
    row = ACTIVATIONS[name]
    return row.scalar_slope.format(t=z if row.needs == "z" else y)


@last_kernels
def compiled(name: str, text: str, flags: str, lanes: int | None) -> Native:
    """The kernel of a text."""
    return source(f"mlp_training-{name}", text, flags=flags, lanes=lanes)


class OneThread(ArrayStrategy):
    """A strategy that is one kernel on one thread: a step waits for the one before."""

    operation = "mlp_training"
    takes = features("dtype:float64")
    parallel = False
    flags = ""
    """Liberties of the arithmetic: see `rooftile.devices.cpu.native.source`."""

    @abstractmethod
    def text(self, problem: MlpTraining) -> str:
        """The kernel's text, in which REAL stands for the type of the numbers."""

    def lanes(self, problem: MlpTraining) -> int | None:
        """Width of its vectors."""
        return None

    def kernel(self, problem: MlpTraining) -> ArrayKernel:
        real = "float32" if problem.dtype == "float32" else "np.float64"
        text = self.text(problem).replace("REAL", real)
        function = compiled(self.name, text, self.flags, self.lanes(problem))
        return ArrayKernel(function, 1, (problem.epochs, problem.rows))
