"""The interface of a network: the preparation of its inputs, and the meaning of its outputs.

Every use of a network asks here: training, `Network.predict`, plans, streams, the command line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.nn.data.images import FASHION, prepared
from rooftile.nn.data.pixels import Pixels
from rooftile.nn.data.standardisation import Standardisation
from rooftile.nn.layers import LayerActivation, Shape
from rooftile.ops import Float32

Task = Literal["classification", "regression"]
"""Outputs of a classification stand for a class; outputs of a regression are numbers."""
_HALF = 0.5
"""One output above it stands for class 1."""


@dataclass(frozen=True)
class Interface:
    """The inputs and the outputs of a network.

    ``input_shape`` is (features,) or (channels, height, width); ``output_shape`` is (outputs,), or
    (maps, height, width) of a network that ends with a convolution.  ``activation`` is the last
    layer's.  Raises `InputError` for a preparation that does not fit the inputs.
    """

    name: str
    input_shape: Shape
    output_shape: Shape
    activation: LayerActivation
    pixels: Pixels | None = None
    standardisation: Standardisation | None = None
    task: Task | None = None

    def __post_init__(self) -> None:
        if self.task not in (None, *get_args(Task)):
            raise InputError("task", repr(self.task), f"None or one of {list(get_args(Task))}")
        if self.pixels is not None:
            if len(self.input_shape) != 3:
                raise InputError("pixels", f"{self.name} over rows of features", "standardisation=")
            self.pixels.check(self.input_shape[0])
        if self.standardisation is not None:
            self.standardisation.check(self.input_shape[0])

    @property
    def images(self) -> bool:
        """True if the network reads images; else it reads rows of features."""
        return len(self.input_shape) == 3

    def prepare(self, raw: Any) -> Float32:
        """The layers' input, float32[n, *input_shape].

        ``raw`` are images uint8[n, height, width] or [n, channels, height, width] of any size,
        which are resized to the network's and become numbers by its ``pixels``, images of one
        channel by Fashion-MNIST's where the network has none; or rows [n, features] of numbers, or
        images of floating-point numbers in the network's size, which are standardised where the
        network has a ``standardisation``. Raises `InputError`.
        """
        array: NDArray[Any] = np.asarray(raw)
        if self.images and (array.dtype.kind != "f" or self.standardisation is None):
            return self._of_pixels(array)
        if array.dtype.kind not in "fiu" or array.shape[1:] != self.input_shape:
            expected = f"numbers[n, {', '.join(map(str, self.input_shape))}]"
            what = "images" if self.images else "rows"
            raise InputError(what, f"{array.dtype}{list(array.shape)}", expected)
        return self.standardised(array).astype(np.float32, copy=False)

    def standardised(self, values: NDArray[Any]) -> NDArray[Any]:
        """Rows or images of numbers, standardised where the network has a standardisation."""
        return values if self.standardisation is None else self.standardisation(values)

    def _of_pixels(self, images: NDArray[Any]) -> Float32:
        if self.pixels is None and self.input_shape[0] > 1:
            expected = "Network(..., pixels=rooftile.nn.Pixels(mean, deviation)) for colour images"
            raise InputError("network", f"{self.name} without pixels", expected)
        channels, height, width = self.input_shape
        return prepared(images, (channels, height, width), self.pixels or FASHION)

    @property
    def regression(self) -> bool:
        """True if the outputs are numbers, and stand for no class."""
        return self.task == "regression"

    @property
    def classes(self) -> int:
        """Number of classes: two of one output, else one of each output."""
        return max(2, self.output_shape[0])

    def labels(self, y: Any) -> Any:
        """The class that each row of outputs y[n, outputs] stands for, int64[n], as y's kind of
        array: class 1 where the only output is above one half, else the largest output's."""
        if self.output_shape[0] > 1:
            return y.argmax(axis=1)
        above = y[:, 0] > _HALF
        # Booleans of any library become its integers.
        return above.astype(np.int64) if isinstance(above, np.ndarray) else above * 1

    def predictions(self, y: Any) -> Any:
        """The classes, int64[n]; of a regression the outputs themselves, [n, outputs]."""
        return y if self.regression else self.labels(y)

    def shares(self, y: NDArray[Any]) -> Float32:
        """The probability that each class has by outputs y[n, outputs], float32[n, classes].

        After a softmax the outputs are probabilities; without an activation softmax makes them of
        the outputs; n sigmoids are probabilities that need not sum to 1; one output is the
        probability of class 1, cut to 0 and 1. Outputs of other activations stay as they are.
        """
        y = y.astype(np.float32, copy=False)
        if self.output_shape[0] == 1:
            second = y[:, :1].clip(0, 1)
            return np.concatenate([1 - second, second], axis=1)
        if self.activation != "none":
            return y
        exponentials = np.exp(y - y.max(axis=1, keepdims=True))
        shares: Float32 = exponentials / exponentials.sum(axis=1, keepdims=True)
        return shares
