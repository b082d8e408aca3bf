"""Training: forward and backward passes, losses, optimisers, and the loop around them."""

from rooftile.nn.training.loop import outputs, predict, train
from rooftile.nn.training.losses import LossName
from rooftile.nn.training.options import (
    OptimiserName,
    OptimizerName,
    Progress,
    ScheduleName,
    TrainingOptions,
)
from rooftile.nn.training.phases import Phases, Profile
from rooftile.nn.training.record import with_record

__all__ = [
    "LossName",
    "OptimiserName",
    "OptimizerName",
    "Phases",
    "Profile",
    "Progress",
    "ScheduleName",
    "TrainingOptions",
    "outputs",
    "predict",
    "train",
    "with_record",
]
