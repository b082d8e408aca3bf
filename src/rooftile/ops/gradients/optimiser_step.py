"""`optimiser_step`: gradients change the parameters of a network and an optimiser's memories.

Of stochastic gradient descent ``velocity = momentum velocity + gradient`` and ``parameter = kept
parameter - rate velocity``.  Of Adam ``mean`` and ``square`` move towards the gradient and its
square, and ``parameter = kept parameter - rate mean / (sqrt(square) / root + epsilon)``.

Where the loss was multiplied by a scale, so are the gradients.  Where one of them overflowed
nothing is changed, and the next scale is half as large; it doubles after `GROWTH` steps without.

Sources: Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and momentum in deep
learning", ICML 2013; Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015;
Loshchilov, Hutter, "Decoupled weight decay regularization", ICLR 2019; Micikevicius and others,
"Mixed precision training", ICLR 2018, section 3.2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, get_args

import numpy as np

from rooftile.errors import InputError, check_word
from rooftile.ops.checks import check_positive, is_whole
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.judgement import Budget, Judgement
from rooftile.ops.precision import ErrorModel
from rooftile.ops.problem import AnyArray, Array, Float32, Float64, Problem

Optimizer = Literal["sgd", "adam"]
MEMORIES: dict[str, tuple[str, ...]] = {"sgd": ("velocity",), "adam": ("mean", "square")}
"""The memories of each optimiser, each as large as the parameters."""
SQUARE_DECAY, EPSILON = 0.999, 1e-8
"""Adam's decay of the mean square, and the constant that keeps its root from zero."""
GROWTH, MOST_SCALE = 2000.0, 2.0**24
"""Steps without an overflow after which the scale doubles, and where it no longer does."""


@dataclass(frozen=True)
class OptimiserStep(Problem):
    """parameters[size], gradients[size], memories[size], rates[steps, 4] and step[1], int32, to new
    parameters and memories.

    The row ``step[0] - 1`` of rates has the learning rate (of Adam divided by what frees the mean
    of bias), what weight decay leaves, the root of what frees the mean square of bias, and the
    epoch.  The first ``decayed`` parameters decay.  With ``scaled`` there is also scaling[2]: the
    scale, and how many steps it has been, of which new values are given.  Raises `InputError`.
    """

    operation: ClassVar[str] = "optimiser_step"
    words: ClassVar[str] = "{size} parameters by {optimizer}{scaled?, gradients of a scaled loss|}"

    size: int
    optimizer: Optimizer = "sgd"
    momentum: float = field(default=0.9, metadata=SIZE)
    decayed: int = field(default=0, metadata=SIZE)
    steps: int = field(default=1, metadata=SIZE)
    scaled: bool = False

    def __post_init__(self) -> None:
        check_positive(size=self.size, steps=self.steps)
        check_word("optimizer", self.optimizer, get_args(Optimizer))
        if not 0 <= self.momentum < 1:
            raise InputError("momentum", repr(self.momentum), "a number from 0 to below 1")
        if not is_whole(self.decayed) or self.decayed < 0:
            raise InputError("decayed", repr(self.decayed), "an integer of at least 0")

    @property
    def memories(self) -> tuple[str, ...]:
        """The names of the optimiser's memories."""
        return MEMORIES[self.optimizer]

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """parameters, gradients, memories, rates, step, scaling where there is one; what of them is
        new, under the same names after ``new_``."""
        shape = (self.size,)
        kept = [Array("parameters", shape), *(Array(name, shape) for name in self.memories)]
        scaling = [Array("scaling", (2,))] if self.scaled else []
        times = Array("rates", (self.steps, 4)), Array("step", (1,), "int32")
        made = (
            dataclasses.replace(array, name=f"new_{array.name}", role="output")
            for array in (*kept, *scaling)
        )
        given = kept[0], Array("gradients", shape), *kept[1:], *times, *scaling
        return tuple(dataclasses.replace(one, operand=False) for one in (*given, *made))

    @property
    def flops(self) -> int:
        """For each parameter two multiply-adds, of Adam five operations more and a root."""
        return self.size * (4 if self.optimizer == "sgd" else 12)

    def judgement(self, output: Array, model: ErrorModel) -> Judgement:
        """Sums of two terms; of Adam a quotient and a root too."""
        return Budget(2, roundings=4.0 if self.optimizer == "sgd" else 8.0)

    def shrunk(self) -> OptimiserStep:
        """A million parameters."""
        return dataclasses.replace(self, size=min(self.size, 2**20))

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Normal parameters and gradients; squares above zero, small rates, a step."""
        given = [*super().random(seed)]
        return self._possible(given, seed)

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Hard parameters, gradients and memories; rates, step and scale are ordinary.

        Subnormal ones stay away from quotients: what they lose there is no rounding's.
        """
        divided = self.scaled or self.optimizer == "adam"
        return {
            kind: self._possible([*given], seed)
            for kind, given in super().hard(seed).items()
            if kind != "subnormal" or not divided
        }

    def _possible(self, given: list[AnyArray], seed: int) -> tuple[AnyArray, ...]:
        generator = np.random.default_rng([seed, 1])
        count = len(self.memories) + 2
        if self.optimizer == "adam":
            given[count - 1] = np.abs(given[count - 1])
        rates = generator.uniform(0.5, 1, (self.steps, 4)).astype(np.float32)
        rates[:, 0] *= np.float32(0.01)
        step = generator.integers(1, self.steps + 1, 1).astype(np.int32)
        scale = np.array([2.0 ** generator.integers(4, 17), generator.integers(0, 2)], np.float32)
        if generator.integers(2):
            scale[1] = GROWTH - 1
        return (*given[:count], rates, step, *([scale] if self.scaled else []))

    def reference(self, *given: AnyArray) -> tuple[Float64, ...]:
        """Everything that is new in float64."""
        return self._made(*given)[0]

    def magnitude(self, *given: AnyArray) -> tuple[Float64, ...]:
        """Of each sum the magnitudes of its terms."""
        return self._made(*given)[1]

    def _made(self, *given: AnyArray) -> tuple[tuple[Float64, ...], tuple[Float64, ...]]:
        """The new values, and their magnitudes."""
        many = len(self.memories)
        exact = [one.astype(np.float64) for one in given]
        own, gradient, memories = exact[0], exact[1], exact[2 : 2 + many]
        rate, kept, root, _ = exact[2 + many][int(given[3 + many][0]) - 1]
        factor = np.where(np.arange(self.size) < self.decayed, kept, 1.0)
        scaling: tuple[Float64, ...] = ()
        if self.scaled:
            scaling = (self._next_scale(given[1], exact[-1]),)
            if not np.isfinite(given[1]).all():
                same = (own, *memories, *scaling)
                return same, tuple(map(np.abs, same))
            gradient = gradient / exact[-1][0]
        step = self._sgd if self.optimizer == "sgd" else self._adam
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            moved, terms, new, sums = step(gradient, memories, root)
            made = (factor * own - rate * moved, *new, *scaling)
            return made, (np.abs(factor * own) + rate * terms, *sums, *scaling)

    def _sgd(
        self, gradient: Float64, memories: list[Float64], root: float
    ) -> tuple[Float64, Float64, list[Float64], list[Float64]]:
        """A parameter's change, its magnitude, the new velocity and its magnitude."""
        share = np.float64(np.float32(self.momentum))
        velocity = share * memories[0] + gradient
        terms = np.abs(share * memories[0]) + np.abs(gradient)
        return velocity, terms, [velocity], [terms]

    def _adam(
        self, gradient: Float64, memories: list[Float64], root: float
    ) -> tuple[Float64, Float64, list[Float64], list[Float64]]:
        """The same; the new mean and square."""
        of_mean, of_square = (
            np.float64(np.float32(1 - one)) for one in (self.momentum, SQUARE_DECAY)
        )
        mean = memories[0] + of_mean * (gradient - memories[0])
        square = memories[1] + of_square * (gradient * gradient - memories[1])
        below = np.sqrt(square) / root + np.float64(np.float32(EPSILON))
        terms = np.abs(memories[0]) + np.abs(gradient)
        squares = np.abs(memories[1]) + of_square * gradient * gradient
        return mean / below, terms / below, [mean, square], [terms, squares]

    def _next_scale(self, gradients: Float32, scaling: Float64) -> Float64:
        """The next step's scale, and how many steps it has been."""
        scale, counted = scaling[0], scaling[1] + 1
        if not np.isfinite(gradients).all():
            return np.array([0.5 * scale, 0.0])
        if counted == GROWTH:
            return np.array([scale * (2.0 if scale < MOST_SCALE else 1.0), 0.0])
        return np.array([scale, counted])


NAMED = {
    "lenet5": OptimiserStep(36_000, decayed=35_000),
    "adam-10^6": OptimiserStep(10**6, "adam", decayed=10**6),
    "sgd-10^7": OptimiserStep(10**7, decayed=10**7),
    "adam-10^7-scaled": OptimiserStep(10**7, "adam", decayed=10**7, scaled=True),
}
TEXTBOOK = Climbed.of("adam-10^6")
LARGE = Climbed.of("sgd-10^7")
