"""A weight file's record: how it was made, and its scores."""

from __future__ import annotations

import dataclasses
import json

import numpy as np

from rooftile._version import __version__
from rooftile.devices.select import DeviceName, parse_device
from rooftile.nn.data import ImageSet
from rooftile.nn.network import Network
from rooftile.nn.training.checkpoint import DATA_KEY
from rooftile.nn.training.gpu.forward import Outputs
from rooftile.nn.training.loop import predict
from rooftile.nn.training.options import TrainingOptions
from rooftile.runtime.calls.plain import plain

_FIRST = (100, 1000, 10000)
"""The numbers of test images whose accuracy is recorded; of fewer images, that of all."""


@plain
def with_record(
    network: Network,
    command: str,
    options: TrainingOptions,
    trained_on: str,
    test: ImageSet,
    device: DeviceName | None = None,
) -> Network:
    """The network with metadata on its making: command, options, seed, data, accuracies.

    ``trained_on`` names the training images for a person to read.  The accuracy on the first 100,
    1,000 and 10,000 of the test images, or on all of fewer, is computed here, with the training
    pass on the training's ``device``, and kept under ``accuracy_<n>``; what the labels stand for,
    where they have names, under ``classes``.  Raises `InputError`, and what opening the device
    raises.
    """
    if device is None or parse_device(device)[0] == "cpu":
        found = predict(network, test.images, threads=options.threads)
    else:
        found = network.interface.labels(Outputs(network, test.images, options, device)())
    right = found == test.labels
    counts = [count for count in _FIRST if count <= len(right)] or [len(right)]
    accuracies = {f"accuracy_{count}": f"{np.mean(right[:count]):.4f}" for count in counts}
    settings = dataclasses.replace(options, threads=None).to_json()
    metadata = {
        "command": command,
        "trained_on": trained_on,
        "seed": str(options.seed),
        "epochs": str(options.epochs),
        "options": json.dumps(settings, sort_keys=True),
        "version": __version__,
    }
    if DATA_KEY in network.metadata:
        metadata[DATA_KEY] = network.metadata[DATA_KEY]
    if test.classes:
        metadata["classes"] = json.dumps(test.classes)
    return network.with_parameters(network.parameters, metadata | accuracies)
