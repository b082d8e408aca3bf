"""What the CPU's strategies of `mlp_training` share."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache

from rooftile.devices.cpu.native import Native, source
from rooftile.ops.features import features
from rooftile.ops.mlp_training import MlpTraining
from rooftile.strategies import ArrayKernel, ArrayStrategy

HEAD = "def kernel(x, targets, order, rates, weights, trained, losses, sizes, begin, end):"
FUNCTIONS = """
def sigmoid_of(z):
    e = math.exp(-abs(z))
    return np.where(z < REAL(0.0), e, REAL(1.0)) / (REAL(1.0) + e)

def softplus_of(z):
    return np.where(z < REAL(0.0), REAL(0.0), z) + math.log1p(math.exp(-abs(z)))
"""
"""Of numbers; the exponential of a number that is not positive cannot overflow."""
VALUES = {
    "none": "{z}",
    "relu": "np.where({z} < REAL(0.0), REAL(0.0), {z})",
    "sigmoid": "sigmoid_of({z})",
    "tanh": "math.tanh({z})",
    "softplus": "softplus_of({z})",
}
"""Activations of a number."""
SLOPES = {
    "none": "REAL(1.0)",
    "relu": "np.where({z} > REAL(0.0), REAL(1.0), REAL(0.0))",
    "sigmoid": "{y} * (REAL(1.0) - {y})",
    "tanh": "REAL(1.0) - {y} * {y}",
    "softplus": "sigmoid_of({z})",
}
"""Their derivatives at z, where the value is y."""


@lru_cache(maxsize=256)
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
        """See `ArrayStrategy.kernel`."""
        real = "float32" if problem.dtype == "float32" else "np.float64"
        text = self.text(problem).replace("REAL", real)
        function = compiled(self.name, text, self.flags, self.lanes(problem))
        return ArrayKernel(function, 1, (problem.epochs, problem.rows))
