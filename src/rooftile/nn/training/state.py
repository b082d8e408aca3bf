"""The state of a training run: all that it needs to go on as if it had never stopped."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rooftile.nn.training.optimisers import Arrays, Optimiser


@dataclass
class Best:
    """The parameters whose loss on the held-out data was least."""

    loss: float = math.inf
    epoch: int = 0
    parameters: Arrays = field(default_factory=dict)

    def offer(self, loss: float, epoch: int, parameters: Arrays) -> None:
        """Keep a copy of parameters that are better than any before."""
        if loss < self.loss:
            self.loss, self.epoch = loss, epoch
            self.parameters = {key: value.copy() for key, value in parameters.items()}


@dataclass
class State:
    """The values that change from step to step."""

    parameters: Arrays
    optimiser: Optimiser
    generator: np.random.Generator
    epoch: int = 0
    """Epochs that are done."""
    step: int = 0
    """Steps that are done of the epoch after them."""
    total: float = 0.0
    """Sum of those steps' losses."""
    best: Best = field(default_factory=Best)
    drawn_from: dict[str, Any] = field(default_factory=dict)
    """The generator's state when the epoch began: a resumed run draws again what was drawn."""

    settle: Callable[[], None] = lambda: None
    """Copies parameters and memory to these arrays from a device."""

    def __post_init__(self) -> None:
        self.begin_epoch()

    def begin_epoch(self) -> None:
        """Remember where the epoch's random numbers begin."""
        self.drawn_from = dict(self.generator.bit_generator.state)

    def end_step(self, loss: float, last: bool) -> None:
        """Count a step, the epoch's last one as an epoch."""
        self.step, self.total = self.step + 1, self.total + loss
        if last:
            self.epoch, self.step, self.total = self.epoch + 1, 0, 0.0
            self.begin_epoch()
