"""`bias_activation`: an activation of rows of numbers, and what each column adds before it.

``y = f(x + bias)``, in which every row of x has the same bias.  It is the part of a linear layer
that a product of matrices leaves over, and without a bias an activation alone.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.3.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, get_args

import numpy as np

from rooftile.errors import InputError, check_word
from rooftile.ops.activation import Differentiable, activation, roundings
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.judgement import Budget, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import Array, Float32, Float64, Problem

_SHRUNK = 2**20


@dataclass(frozen=True)
class BiasActivation(Problem):
    """x[rows, columns] and, with ``bias``, bias[columns] to y[rows, columns].

    Raises `InputError` for a size below 1 and another activation.
    """

    operation: ClassVar[str] = "bias_activation"
    words: ClassVar[str] = (
        "{rows} rows of {columns} numbers{bias?, each with a bias|}, {activation}"
    )

    rows: int
    columns: int
    activation: Differentiable = "relu"
    bias: bool = False

    def __post_init__(self) -> None:
        check_positive(rows=self.rows, columns=self.columns)
        check_word("activation", self.activation, get_args(Differentiable))
        if not isinstance(self.bias, bool):
            raise InputError("bias", repr(self.bias), "True or False")

    @property
    def size(self) -> int:
        """Elements of x."""
        return self.rows * self.columns

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x, bias where there is one, and y."""
        shape = self.rows, self.columns
        bias = (Array("bias", (self.columns,), operand=False),) if self.bias else ()
        return (Array("x", shape, operand=False), *bias, Array("y", shape, role="output"))

    @property
    def flops(self) -> int:
        """An addition and about two operations of the activation for each element."""
        return 3 * self.size

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """The sum is rounded once, and the activation as its row says."""
        return Budget(1, roundings(self.activation))

    def shrunk(self) -> BiasActivation:
        """A million elements."""
        return dataclasses.replace(self, rows=max(1, min(self.rows, _SHRUNK // self.columns)))

    def reference(self, x: Float32, *bias: Float32) -> Float64:
        """y in float64."""
        with np.errstate(invalid="ignore", over="ignore"):
            z = sum((one.astype(np.float64) for one in bias), x.astype(np.float64))
            made: Float64 = activation(self.activation).value(z).astype(np.float64, copy=False)
        return made

    def magnitude(self, x: Float32, *bias: Float32) -> Float64:
        """The magnitudes of what is added, and of the value."""
        with np.errstate(invalid="ignore", over="ignore"):
            z = sum((np.abs(one.astype(np.float64)) for one in bias), np.abs(x.astype(np.float64)))
            made: Float64 = z + np.abs(self.reference(x, *bias))
        return made


NAMED = {
    "lenet-linear1": BiasActivation(1000, 32, bias=True),
    "rows-4096": BiasActivation(4096, 4096, bias=True),
    "softplus": BiasActivation(1, 2**24, "softplus"),
}
LARGE = Climbed.of("rows-4096")
