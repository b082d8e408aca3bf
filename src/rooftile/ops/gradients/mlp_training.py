"""`mlp_training`: the weights of fully connected layers after epochs of a step for each sample.

For each epoch e and each sample s in ``order[e]``: forward, then backward from the loss
``1/2 sum (y - t)^2``, then ``w -= rates[e] * dloss/dw``, before the next sample.  Each step needs
the weights that the one before has left, so that the samples cannot be shared out.

Weights are one flat array: layer after layer, neuron after neuron, each with the weights of its
inputs and then its bias.

Source: Rumelhart, Hinton, Williams, "Learning representations by back-propagating errors",
Nature 323 (1986); Goodfellow, Bengio, Courville, "Deep Learning" (2016), sections 6.5 and 8.3.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError, unknown
from rooftile.ops import nearby
from rooftile.ops.activation import Differentiable
from rooftile.ops.checks import check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.gradients import mlp_reference
from rooftile.ops.problem import AnyArray, Array, Float64, Problem

ACTIVATIONS = (*get_args(Differentiable), "softmax")
"""The activations with a derivative; ``softmax`` is over a layer's neurons."""
_FEW_ROWS = 48


@dataclass(frozen=True)
class Neurons:
    """Layers in a row: how many neurons each has, and their activation.  Raises `InputError`."""

    counts: tuple[int, ...]
    activations: tuple[str, ...]

    def in_words(self) -> str:
        """Numbers of neurons, layer by layer."""
        return f"layers of {', '.join(map(str, self.counts))} neurons"

    def __post_init__(self) -> None:
        if not self.counts or len(self.counts) != len(self.activations):
            found = f"{len(self.counts)} counts and {len(self.activations)} activations"
            raise InputError("layers", found, "at least one layer, an activation for each")
        check_positive(**{f"neurons of layer {k}": n for k, n in enumerate(self.counts, 1)})
        for name in self.activations:
            if name not in ACTIVATIONS:
                raise unknown("activation", name, ACTIVATIONS)

    @classmethod
    def from_text(cls, text: str) -> Neurons:
        """``4:softmax-5:relu-1:sigmoid``.  Raises `InputError`."""
        parts = [part.partition(":") for part in text.split("-")]
        if not all(count.isdigit() for count, _, _ in parts):
            raise InputError("layers", repr(text), "neurons:activation, as in 5:relu-1:sigmoid")
        counts = tuple(int(count) for count, _, _ in parts)
        return cls(counts, tuple(name or "none" for _, _, name in parts))

    def __str__(self) -> str:
        return "-".join(
            f"{n}:{name}" for n, name in zip(self.counts, self.activations, strict=True)
        )


@dataclass(frozen=True)
class MlpTraining(Problem):
    """x[rows, features], targets[rows, outputs], order[epochs, rows], rates[epochs], weights[n] to
    trained[n] and losses[epochs], the mean of each epoch's losses before their steps."""

    operation: ClassVar[str] = "mlp_training"
    words: ClassVar[str] = "{epochs} epochs of {rows} rows, {layers}, {dtype}"
    counts: ClassVar[tuple[str, ...]] = ("features", "epochs")

    rows: int
    epochs: int
    features: int
    layers: Neurons
    dtype: Literal["float32", "float64"] = "float32"

    def __post_init__(self) -> None:
        check_positive(rows=self.rows, epochs=self.epochs, features=self.features)
        if self.dtype not in ("float32", "float64"):
            raise InputError("dtype", repr(self.dtype), "'float32' or 'float64'")

    @property
    def sizes_in_a_row(self) -> tuple[int, ...]:
        """Features, then each layer's neurons."""
        return (self.features, *self.layers.counts)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The index of each layer's first weight, and after them the number of weights."""
        places = [0]
        for inputs, neurons in itertools.pairwise(self.sizes_in_a_row):
            places.append(places[-1] + neurons * (inputs + 1))
        return tuple(places)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """See the class."""
        count, outputs = self.starts[-1], self.layers.counts[-1]
        return (
            Array("x", (self.rows, self.features), self.dtype),
            Array("targets", (self.rows, outputs), self.dtype),
            Array("order", (self.epochs, self.rows), "int32"),
            Array("rates", (self.epochs,), self.dtype),
            Array("weights", (count,), self.dtype),
            Array("trained", (count,), self.dtype, role="output"),
            Array("losses", (self.epochs,), self.dtype, role="output"),
        )

    @property
    def flops(self) -> int:
        """Two for each weight forward, two for its step, two backward but in the first layer."""
        return self.rows * self.epochs * (6 * self.starts[-1] - 2 * self.starts[1])

    @property
    def reduction(self) -> int:
        """Every step adds to a weight; the sums in a step are as long as its layers are wide."""
        return self.rows * self.epochs + sum(self.sizes_in_a_row) + len(self.layers.counts)

    def random(self, seed: int) -> tuple[AnyArray, ...]:
        """Normal data, targets of 0 and 1, each epoch's order drawn, weights that keep variance."""
        generator = np.random.default_rng(seed)
        outputs = self.layers.counts[-1]
        x = generator.standard_normal((self.rows, self.features))
        targets = generator.integers(0, 2, (self.rows, outputs))
        order = np.argsort(generator.random((self.epochs, self.rows)), axis=1)
        rates = generator.uniform(0.01, 0.05, self.epochs)
        weights = np.concatenate(
            [
                generator.standard_normal(neurons * (inputs + 1)) / math.sqrt(inputs + 1)
                for inputs, neurons in itertools.pairwise(self.sizes_in_a_row)
            ]
        )
        dtype = np.dtype(self.dtype)
        numbers = [values.astype(dtype) for values in (x, targets, rates, weights)]
        return (*numbers[:2], order.astype(np.int32), *numbers[2:])

    def hard(self, seed: int) -> Mapping[str, tuple[AnyArray, ...]]:
        """Rows that are all the same, that saturate what can saturate, that are subnormal; and one
        row with a NaN, after which every weight that learns from it is one."""
        x, *others = self.random(seed)
        spoilt = x.copy()
        spoilt[-1, 0] = np.nan
        kinds = {"ties": np.broadcast_to(x[:1], x.shape).copy(), "large": 8 * x}
        kinds |= {"subnormal": x * x.dtype.type(2.0**-130), "NaN": spoilt}
        return {kind: (values, *others) for kind, values in kinds.items()}

    def shrunk(self) -> MlpTraining:
        return dataclasses.replace(self, epochs=min(2, self.epochs))

    def neighbours(self) -> tuple[MlpTraining, ...]:
        """Few rows, since the reference takes one after the other: a problem of other features, and
        one of as many, whose kernels are compiled already."""
        few = dataclasses.replace(self, rows=min(_FEW_ROWS, self.rows)).shrunk()
        same = dataclasses.replace(few, rows=few.rows + 1, epochs=few.epochs + 1)
        return (*nearby.off_grid(few)[:1], same)

    def reference(self, *arrays: Any) -> tuple[Float64, Float64]:
        """The weights and the losses in float64."""
        found = self._trained(*arrays)
        return found.weights, found.losses

    def magnitude(self, *arrays: Any) -> tuple[Float64, Float64]:
        """Of a weight: its first value and the terms of all that is ever added, by magnitude, and
        what `mlp_reference` adds for roundings that are not random.

        After a step an error is carried by the factor of one minus the rate times a curvature:
        rates are small, and it neither grows nor shrinks much. A loss is off by what the weights
        are off times its mean slope.
        """
        found = self._trained(*arrays)
        return found.magnitude, found.slopes

    def _trained(self, *arrays: AnyArray) -> mlp_reference.Trained:
        """Of the same arrays, as `reference` and `magnitude` are given them, it is found once."""
        return _of_bytes(self, *((a.dtype, a.shape, a.tobytes()) for a in arrays))

    def step(self, w: Float64, x: Float64, target: Float64) -> tuple[float, Float64]:
        """The loss of one row, and its gradient for all weights."""
        return mlp_reference.step(self, w, x, target)

    def parts(self, flat: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Views of each layer's weights[neurons, inputs] and bias[neurons] in a flat array."""
        for k, neurons in enumerate(self.layers.counts):
            own = flat[self.starts[k] : self.starts[k + 1]].reshape(neurons, -1)
            yield own[:, :-1], own[:, -1]


@lru_cache(maxsize=8)
def _of_bytes(
    problem: MlpTraining, *given: tuple[np.dtype[Any], tuple[int, ...], bytes]
) -> mlp_reference.Trained:
    arrays = (np.frombuffer(data, dtype).reshape(shape) for dtype, shape, data in given)
    x, targets, order, rates, weights = arrays
    x, targets, weights = (array.astype(np.float64) for array in (x, targets, weights))
    return mlp_reference.train(problem, x, targets, order, rates, weights)


_DECK = Neurons((4, 5, 5, 1), ("softmax", "relu", "tanh", "sigmoid"))
NAMED = {
    "banknote": MlpTraining(1096, 10, 4, _DECK),
    "banknote-1": MlpTraining(1096, 1, 4, _DECK),
    "banknote-small": MlpTraining(137, 1, 4, _DECK),
    "banknote-100": MlpTraining(1096, 100, 4, _DECK),
    "banknote-1000": MlpTraining(1096, 1000, 4, _DECK),
    "banknote-float64": MlpTraining(1096, 10, 4, _DECK, "float64"),
    "xor": MlpTraining(4, 500, 2, Neurons((2, 1), ("tanh", "sigmoid"))),
}
TEXTBOOK = Climbed.of("banknote-small")
LARGE = Climbed.of("banknote-100")
