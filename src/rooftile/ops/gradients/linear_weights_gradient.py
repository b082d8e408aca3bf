"""`linear_weights_gradient`: what the weights and biases of one or two linear layers change.

``dweights = dz^T x`` and ``dbias`` is dz summed over the images, where dz is the gradient before
the activation.  With ``features`` the layer before is asked for in the same call: nothing but an
optimiser waits for either.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 6.5, algorithm 6.4.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rooftile.errors import InputError
from rooftile.ops.checks import check_positive, is_whole
from rooftile.ops.climbed import Climbed
from rooftile.ops.problem import Array, Float32, Float64, Problem


@dataclass(frozen=True)
class LinearWeightsGradient(Problem):
    """x[images, inputs] and dz[images, outputs] to dweights[outputs, inputs] and dbias[outputs].

    With ``features`` above 0 also first_x[images, features] and first_dz[images, inputs], of the
    layer whose value x is, to first_dweights[inputs, features] and first_dbias[inputs].  Raises
    `InputError`.
    """

    operation: ClassVar[str] = "linear_weights_gradient"
    words: ClassVar[str] = "{images} rows of {inputs} numbers to {outputs}"

    images: int
    inputs: int
    outputs: int
    features: int = 0

    def __post_init__(self) -> None:
        check_positive(images=self.images, inputs=self.inputs, outputs=self.outputs)
        if not is_whole(self.features) or self.features < 0:
            raise InputError("features", repr(self.features), "an integer of at least 0")

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs of each layer."""
        first = ((self.features, self.inputs),) if self.features else ()
        return (*first, (self.inputs, self.outputs))

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x and dz, then dweights and dbias, of each layer."""
        heads = ("first_", "")[-len(self.layers) :]
        given, made = [], []
        for head, (inputs, outputs) in zip(heads, self.layers, strict=True):
            given += [Array(f"{head}x", (self.images, inputs))]
            given += [Array(f"{head}dz", (self.images, outputs))]
            made += [Array(f"{head}dweights", (outputs, inputs), role="output")]
            made += [Array(f"{head}dbias", (outputs,), role="output")]
        return (*given, *made)

    @property
    def parameters(self) -> int:
        """Weights and biases of all layers."""
        return sum((inputs + 1) * outputs for inputs, outputs in self.layers)

    @property
    def flops(self) -> int:
        """Two for each image and weight."""
        return 2 * self.images * sum(inputs * outputs for inputs, outputs in self.layers)

    @property
    def reduction(self) -> int:
        """The images."""
        return self.images

    def shrunk(self) -> LinearWeightsGradient:
        """Few images."""
        return dataclasses.replace(self, images=min(8, self.images))

    def reference(self, *given: Float32) -> tuple[Float64, ...]:
        """The gradients in float64."""
        made = list[Float64]()
        with np.errstate(invalid="ignore", over="ignore"):
            for x, dz in zip(given[::2], given[1::2], strict=True):
                exact = dz.astype(np.float64)
                made += [exact.T @ x.astype(np.float64), exact.sum(axis=0)]
        return tuple(made)

    def magnitude(self, *given: Float32) -> tuple[Float64, ...]:
        """Sums of |dz||x| and of |dz|."""
        return self.reference(*map(np.abs, given))


NAMED = {
    "lenet5": LinearWeightsGradient(64, 32, 10, 1024),
    "lenet5-last": LinearWeightsGradient(64, 32, 10),
    "wide": LinearWeightsGradient(256, 512, 512),
}
LARGE = Climbed.of("wide")
