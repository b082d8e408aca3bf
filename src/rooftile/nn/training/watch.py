"""Says of a training that does not learn what is wrong: dead layers, or a loss that stays."""

from __future__ import annotations

import math

import numpy as np

from rooftile.nn.network import Network
from rooftile.nn.training import inputs
from rooftile.nn.training.losses import Targets, wanted
from rooftile.nn.training.model import Model
from rooftile.nn.training.options import Progress, TrainingOptions
from rooftile.nn.training.state import State

_ITEMS = 64
"""Items whose activations are looked at."""
_LEARNT, _MOVED = 0.99, 0.005
"""Shares of a constant answer's loss: a smaller loss has learnt something, and one that is so much
smaller than the epoch's before is moving."""
_SHARE = 0.05
"""Of all epochs: a plateau in the first ones is usual in a run of many."""
_ADVICE = (
    "a smaller learning_rate, another init, or inputs of mean 0 and deviation 1 are what helps most"
)


class LearningWatch:
    """Looks at a run after each epoch and says once that it does not learn.

    What a network without inputs could reach, a constant answer, is the measure: a network whose
    layer is dead gives one.  No activation is looked at before a loss as high as that one's.
    """

    def __init__(
        self, network: Network, data: inputs.Data, targets: Targets, options: TrainingOptions
    ) -> None:
        count = len(data) - options.holdout
        self._network, self._options = network, options
        self._data = data[: min(_ITEMS, count)]
        self._constant = constant_loss(options, targets[:count], network.output_shape[0])
        self._patience = max(2, math.ceil(_SHARE * options.epochs))
        self._high = self._still = 0
        self._before = math.inf
        self._told = False

    def warning(self, report: Progress, state: State) -> str | None:
        """The problem of a run, in a sentence; None where there is none, or where it was said
        before. ``report`` is an epoch's last one."""
        if self._told:
            return None
        high = report.loss >= _LEARNT * self._constant
        still = high and self._before - report.loss < _MOVED * self._constant
        self._high = self._high + 1 if high else 0
        self._still = self._still + 1 if still else 0
        self._before = report.loss
        if self._high < 2:
            return None
        dead = self._dead(state)
        if not dead and self._still + 1 < self._patience:
            return None
        self._told = True
        if dead:
            names = ", ".join(dead)
            return (
                f"every activation of {names} is dead after epoch {report.epoch}: no gradient "
                f"passes, and nothing before is learnt any more; {_ADVICE}"
            )
        return (
            f"the loss has not moved in {self._still + 1} epochs: it is {report.loss:.4g}, and an "
            f"answer that ignores the inputs has {self._constant:.4g}; {_ADVICE}"
        )

    def _dead(self, state: State) -> list[str]:
        """Layers through whose activations no gradient passes for any item that is looked at."""
        state.settle()
        options = self._options
        model = Model(self._network, options.threads or 1, options.loss, dtype=options.dtype)
        x = inputs.numbers(self._network, self._data, options.dtype)
        return model.dead_layers(state.parameters, x)


def constant_loss(options: TrainingOptions, targets: Targets, outputs: int) -> float:
    """The least mean loss of an answer that is the same for all items."""
    if options.loss in ("squared_error", "half_squared_error"):
        spread = float(wanted(targets, outputs, np.float64).var(axis=0).sum())
        return spread if options.loss == "squared_error" else spread / 2
    classes, counts = np.unique(targets, return_counts=True)
    shares = counts / len(targets)
    if options.loss == "cross_entropy":
        return -math.fsum(shares * np.log(shares))
    if options.loss == "missed":
        return 1 - float(shares.max())
    answers = np.arange(outputs)[:, None]
    return float((shares * (answers - classes) ** 2).sum(axis=1).min())
