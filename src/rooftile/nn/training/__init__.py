"""Training: forward and backward passes, optimisers, and the loop around them."""

from rooftile.nn.training.loop import predict, train
from rooftile.nn.training.options import OptimiserName, Progress, ScheduleName, TrainingOptions
from rooftile.nn.training.record import with_record

__all__ = [
    "OptimiserName",
    "Progress",
    "ScheduleName",
    "TrainingOptions",
    "predict",
    "train",
    "with_record",
]
