"""The options of a training run, and its reports."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal, TypeVar, get_args

from rooftile.errors import InputError, unknown
from rooftile.nn.initialisation import Init, check_init, check_scale
from rooftile.nn.training.losses import LossName, check_loss
from rooftile.ops.checks import check_positive

OptimizerName = Literal["adam", "sgd"]
OptimiserName = OptimizerName
"""The older spelling."""
ScheduleName = Literal["cosine", "step", "constant"]
TrainingPrecision = Literal["ieee", "tf32", "bf16", "fp16"]


Options = TypeVar("Options")


def _taking_optimiser(cls: type[Options]) -> type[Options]:
    """The class, which also takes ``optimiser=`` for ``optimizer=``."""
    given: Callable[..., None] = cls.__init__

    @wraps(given)
    def initialise(self: Options, *args: Any, **named: Any) -> None:
        if "optimiser" in named:
            older = named.pop("optimiser")
            if named.setdefault("optimizer", older) != older:
                found = f"{named['optimizer']!r}, and optimiser={older!r}"
                raise InputError("optimizer", found, "one of both: they mean the same")
        given(self, *args, **named)

    # No subclass: `dataclasses.replace` and pickling go by the fields of this very class.
    cls.__init__ = initialise  # type: ignore[assignment]
    return cls


@_taking_optimiser
@dataclass(frozen=True)
class TrainingOptions:
    """The options of a training. Raises `InputError` for a value out of its range.

    Two runs with equal options, network and data give the same weights in every bit
    on the same machine and BLAS, whatever the number of threads.
    """

    epochs: int = 20
    """Passes over the training data."""
    batch: int | None = 64
    """Items a step, 1 for a step after each of them, None for all at once; the last step of an
    epoch takes what is left."""
    loss: LossName = "cross_entropy"
    """The loss that is minimised, on the average of a batch."""
    optimizer: OptimizerName = "adam"
    """The update rule; ``optimiser=`` is taken too."""
    learning_rate: float = 2e-3
    """The largest one: the schedule lowers it."""
    momentum: float = 0.9
    """The momentum of ``sgd``; for ``adam`` the decay of its mean gradient."""
    weight_decay: float = 0.0
    """Share of each weight (not of a bias) that a step takes off, times the learning rate."""
    schedule: ScheduleName = "cosine"
    """``cosine`` falls to zero over the run; ``step`` to a tenth at one and two thirds of it."""
    seed: int = 0
    """It decides the order of the images and how they are augmented."""
    init: Init | None = None
    """The rule of the first weights (`rooftile.nn.initialisation.RULES`): ``glorot``,
    ``kaiming_uniform``, ``he`` or ``lecun``; None: as each layer says, or ``glorot``."""
    last_scale: float = 1.0
    """The first weights of the last layer are multiplied by this."""
    flip: bool = False
    """Of images: mirror every second one.  Off: Fashion-MNIST's shoes all point one way."""
    shift: int = 0
    """Of images: move each by at most this number of pixels in each direction, at random."""
    holdout: int = 0
    """Number of the last items that are kept out of training and classified after each epoch."""
    patience: int | None = None
    """Number of epochs without a smaller loss on the held-out items after which to stop, and give
    back the weights of the smallest; None: do all epochs, and give back the last weights."""
    dropout: float = 0.0
    """Share of each layer's outputs, but the last one's, that a step leaves out at random."""
    dtype: Literal["float32", "float64"] = "float32"
    """The dtype of all arithmetic; float64 for fully connected layers only."""
    precision: TrainingPrecision = "ieee"
    """On a CUDA device, what layers' operands are rounded to; sums, weights and the optimizer's
    memory stay float32.  ``fp16`` scales the loss, so that small gradients keep their bits."""
    threads: int | None = None
    """Threads of the convolutions; None for all cores.  It does not change the result."""

    def __post_init__(self) -> None:
        check_positive(epochs=self.epochs)
        if self.batch is not None:
            check_positive(batch=self.batch)
        if self.patience is not None:
            check_positive(patience=self.patience)
            if not self.holdout:
                raise InputError("patience", self.patience, "None, or held-out items to judge by")
        check_loss(self.loss)
        if self.init is not None:
            check_init(self.init)
        check_scale(self.last_scale)
        if self.threads is not None:
            check_positive(threads=self.threads)
        for name in ("seed", "shift", "holdout"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 0:
                raise InputError(name, repr(value), "an integer of at least 0")
        if self.optimizer not in get_args(OptimizerName):
            raise unknown("optimizer", self.optimizer, get_args(OptimizerName))
        if self.schedule not in get_args(ScheduleName):
            raise unknown("schedule", self.schedule, get_args(ScheduleName))
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise InputError("learning_rate", self.learning_rate, "a finite number above 0")
        if self.precision not in get_args(TrainingPrecision):
            raise unknown("precision", self.precision, get_args(TrainingPrecision))
        if self.dtype not in ("float32", "float64"):
            raise InputError("dtype", repr(self.dtype), "'float32' or 'float64'")
        if not 0 <= self.dropout < 1:
            raise InputError("dropout", self.dropout, "a number from 0 to below 1")
        if not 0 <= self.momentum < 1:
            raise InputError("momentum", self.momentum, "a number from 0 to below 1")
        if not (math.isfinite(self.weight_decay) and self.weight_decay >= 0):
            raise InputError("weight_decay", self.weight_decay, "a finite number of at least 0")

    @property
    def optimiser(self) -> OptimizerName:
        """The older spelling of ``optimizer``."""
        return self.optimizer

    def to_json(self) -> dict[str, Any]:
        """The options by name, as records keep them; ``optimiser`` is ``optimizer``."""
        return {**dataclasses.asdict(self), "optimiser": self.optimizer}

    def rate(self, progress: float) -> float:
        """The learning rate when ``progress`` (0 to 1) of all steps are done."""
        if self.schedule == "cosine":
            return self.learning_rate * (1 + math.cos(math.pi * progress)) / 2
        if self.schedule == "step":
            return self.learning_rate * 0.1 ** int(3 * progress)
        return self.learning_rate


@dataclass(frozen=True)
class Progress:
    """A run's progress; sent after every step."""

    epoch: int
    """From 1 to ``epochs``."""
    epochs: int
    step: int
    """From 1 to ``steps``, within the epoch."""
    steps: int
    loss: float
    """Mean over the epoch's steps so far; a cross-entropy is in nats."""
    learning_rate: float
    holdout_accuracy: float | None = None
    """Share of the held-out items classified right: in an epoch's last report, where the
    options hold items out."""
    holdout_loss: float | None = None
    """Their loss, likewise."""
    warning: str | None = None
    """In an epoch's last report, once in a run: why it does not learn."""
