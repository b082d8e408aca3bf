"""What a weight file says of itself: how it was made, and how right it is."""

from __future__ import annotations

import dataclasses
import json

import numpy as np

from rooftile._version import __version__
from rooftile.nn.data import ImageSet
from rooftile.nn.network import Network
from rooftile.nn.training.loop import predict
from rooftile.nn.training.options import TrainingOptions

_FIRST = (100, 1000, 10000)
"""The numbers of test images whose accuracy is recorded, where there are so many."""


def with_record(
    network: Network, command: str, options: TrainingOptions, trained_on: str, test: ImageSet
) -> Network:
    """The network with metadata on its making: command, options, seed, data, accuracies.

    ``trained_on`` names the training images for a person to read.  The accuracy on the
    first 100, 1,000 and 10,000 of the test images is computed here, with the training
    pass, and kept under ``accuracy_<n>``.  Raises `InputError`.
    """
    right = predict(network, test.images, threads=options.threads) == test.labels
    accuracies = {
        f"accuracy_{count}": f"{np.mean(right[:count]):.4f}"
        for count in _FIRST
        if count <= len(right)
    }
    settings = dataclasses.asdict(dataclasses.replace(options, threads=None))
    metadata = {
        "command": command,
        "trained_on": trained_on,
        "seed": str(options.seed),
        "epochs": str(options.epochs),
        "options": json.dumps(settings, sort_keys=True),
        "version": __version__,
    }
    return network.with_parameters(network.parameters, metadata | accuracies)
