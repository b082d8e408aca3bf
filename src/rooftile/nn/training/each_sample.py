"""Plain descent, a step for each sample: an epoch is one call of the operation `mlp_training`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.nn.layers import LinearLayer
from rooftile.nn.network import Network
from rooftile.nn.training.inputs import Data
from rooftile.nn.training.losses import Targets, wanted
from rooftile.nn.training.optimisers import Arrays
from rooftile.nn.training.options import TrainingOptions
from rooftile.nn.training.passes import Array
from rooftile.ops.gradients.mlp_training import ACTIVATIONS, MlpTraining, Neurons
from rooftile.runtime.selection.choice import decide


def applies(network: Network, data: Data, options: TrainingOptions) -> bool:
    """True if the operation computes what these options ask for."""
    layers = all(
        isinstance(layer, LinearLayer) and layer.activation in ACTIVATIONS
        for layer in network.layers
    )
    plain = options.optimizer == "sgd" and not (
        options.momentum or options.weight_decay or options.dropout
    )
    each = options.batch == 1 and options.schedule == "constant"
    loss = options.loss == "half_squared_error"
    return layers and plain and each and loss and data.ndim == 2 and data.dtype != np.uint8


class EachSample:
    """A network's weights as the operation has them, and the data that it is trained on."""

    def __init__(
        self, network: Network, data: Data, targets: Targets, options: TrainingOptions
    ) -> None:
        counts = tuple(layer.outputs for layer in network.layers if isinstance(layer, LinearLayer))
        names = tuple(layer.activation for layer in network.layers)
        rows, features = data.shape
        self._names = [layer.name for layer in network.layers]
        self._problem = MlpTraining(rows, 1, features, Neurons(counts, names), options.dtype)
        self._x = np.ascontiguousarray(data, options.dtype)
        self._targets = wanted(targets, counts[-1], options.dtype)
        self._rates = np.full(1, options.learning_rate, options.dtype)
        device = cpu.open_device(1)
        self._bound = decide(self._problem).strategy.bind(self._problem, (), device)
        count = self._problem.starts[-1]
        self._before, self._after = (np.empty(count, options.dtype) for _ in range(2))
        self._loss = np.empty(1, options.dtype)

    def epoch(self, parameters: Arrays, order: NDArray[np.integer[Any]]) -> tuple[float, int]:
        """Take a step for each row of an order; the mean loss, and how many steps were finite.
        Where a loss was not finite, the parameters are left as they are."""
        for own, value in self._views(parameters, self._before):
            own[...] = value
        rows = order.astype(np.int32)
        self._bound(
            self._x, self._targets, rows, self._rates, self._before, self._after, self._loss
        )
        loss = float(self._loss[0])
        if not np.isfinite(loss):
            return loss, self._finite(rows)
        for own, value in self._views(parameters, self._after):
            value[...] = own
        return loss, len(rows)

    def _views(self, parameters: Arrays, flat: Array) -> Iterator[tuple[Array, Array]]:
        """Each parameter's place in a flat array, and the parameter."""
        for name, (weights, bias) in zip(self._names, self._problem.parts(flat), strict=True):
            yield weights, parameters[f"{name}.weights"]
            yield bias, parameters[f"{name}.bias"]

    def _finite(self, order: NDArray[np.integer[Any]]) -> int:
        """Number of consecutive steps without an overflow."""
        w = self._before.astype(np.float64)
        with np.errstate(all="ignore"):
            for number, row in enumerate(order):
                loss, gradient = self._problem.step(w, self._x[row], self._targets[row])
                if not np.isfinite(self._x.dtype.type(loss)):
                    return number
                w -= self._rates[0] * gradient
        return len(order) - 1
