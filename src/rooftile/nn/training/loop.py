"""Mini-batch training of a network on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.nn.data.images import prepare
from rooftile.nn.network import Network
from rooftile.nn.training import checkpoint as checkpoints
from rooftile.nn.training.augment import augment
from rooftile.nn.training.model import Model
from rooftile.nn.training.optimisers import Arrays, optimiser
from rooftile.nn.training.options import Progress, TrainingOptions

Images = NDArray[np.uint8]
"""[n, height, width]"""
Labels = NDArray[np.uint8]
"""[n], below the number of classes"""
Report = Callable[[Progress], None]

_CLASSIFIED_AT_A_TIME = 256


def train(
    network: Network,
    images: Images,
    labels: Labels,
    options: TrainingOptions,
    *,
    checkpoint: Path | None = None,
    resume: bool = False,
    progress: Report | None = None,
) -> Network:
    """Train a network to classify images; return it with its new parameters.

    ``images`` uint8[n, height, width] are resized to the network's input and
    standardised batch by batch (`rooftile.nn.data.prepare`); ``labels`` uint8[n].  A
    network without parameters is initialised from the options' seed.  The loss is the
    mean softmax cross-entropy.

    ``checkpoint`` is a file that is replaced after every epoch; with ``resume`` the run
    goes on from it and ends with the weights of a run that never stopped.  ``progress``
    is called after every step, and may raise to stop the run.

    Raises `InputError` before any work for arguments that do not fit each other, for a
    checkpoint that is missing, damaged or of another run, and when the loss is no longer
    finite.
    """
    _check(network, images, labels, options, checkpoint, resume)
    start = network if network.parameters else network.initialise(options.seed)
    parameters: Arrays = {key: value.copy() for key, value in start.parameters.items()}
    rule = optimiser(options, parameters)
    # Another stream of random numbers than the one that the initial weights are drawn from.
    generator = np.random.default_rng([options.seed, 1])
    run = checkpoints.Run.of(network, options, images, labels)
    done = 0
    if resume and checkpoint is not None:
        done = checkpoints.restore(checkpoint, run, parameters, rule, generator)
    model = Model(network, options.threads or cpu.cores())
    trainer = _Trainer(model, images, labels, options, network.input_shape[1])
    for epoch in range(done, options.epochs):
        for report in trainer.epoch(epoch, parameters, rule.step, generator):
            if report.step == report.steps and checkpoint is not None:
                checkpoints.save(checkpoint, run, parameters, rule, generator, epoch + 1)
            if progress is not None:
                progress(report)
    return network.with_parameters(parameters)


def predict(network: Network, images: Images, *, threads: int | None = None) -> NDArray[np.int64]:
    """The class of each image by the training pass: the check on a network's plans."""
    _check_images(network, images)
    if not network.parameters:
        raise InputError("network", f"{network.name} without parameters", "a network with weights")
    model = Model(network, threads or cpu.cores())
    return _predict(model, network.parameters, images, network.input_shape[1])


def _predict(model: Model, parameters: Any, images: Images, size: int) -> NDArray[np.int64]:
    parts = [
        model.scores(parameters, prepare(images[first : first + _CLASSIFIED_AT_A_TIME], size))
        for first in range(0, len(images), _CLASSIFIED_AT_A_TIME)
    ]
    classes: NDArray[np.int64] = np.concatenate(parts).argmax(axis=1)
    return classes


class _Trainer:
    """One run's data and model."""

    def __init__(
        self, model: Model, images: Images, labels: Labels, options: TrainingOptions, size: int
    ) -> None:
        self._model, self._options, self._size = model, options, size
        cut = len(images) - options.holdout
        self._images, self._labels = images[:cut], labels[:cut]
        self._held_images, self._held_labels = images[cut:], labels[cut:]

    def epoch(
        self,
        index: int,
        parameters: Arrays,
        step: Callable[[Arrays, Arrays, float], None],
        generator: np.random.Generator,
    ) -> Iterator[Progress]:
        """One pass over the images in a random order, with a report after each step."""
        options, batch = self._options, self._options.batch
        order = generator.permutation(len(self._images))
        steps = -(-len(order) // batch)
        total = 0.0
        for number in range(steps):
            chosen = order[number * batch : (number + 1) * batch]
            varied = augment(
                self._images[chosen], generator, flip=options.flip, shift=options.shift
            )
            x = prepare(varied, self._size)
            loss, gradients = self._model.loss_and_gradients(parameters, x, self._labels[chosen])
            if not np.isfinite(loss):
                where = f"the loss is {loss} in step {number + 1} of epoch {index + 1}"
                raise InputError("learning_rate", options.learning_rate, f"a smaller one: {where}")
            rate = options.rate((index + number / steps) / options.epochs)
            step(parameters, gradients, rate)
            total += loss
            last = number + 1 == steps
            yield Progress(
                index + 1,
                options.epochs,
                number + 1,
                steps,
                total / (number + 1),
                rate,
                self._held_accuracy(parameters) if last else None,
            )

    def _held_accuracy(self, parameters: Arrays) -> float | None:
        if len(self._held_images) == 0:
            return None
        classes = _predict(self._model, parameters, self._held_images, self._size)
        return float(np.mean(classes == self._held_labels))


def _check(
    network: Network,
    images: Images,
    labels: Labels,
    options: TrainingOptions,
    checkpoint: Path | None,
    resume: bool,
) -> None:
    """Raise `InputError` for what would only fail later, or never."""
    _check_images(network, images)
    if labels.dtype != np.uint8 or labels.shape != (len(images),):
        raise InputError("labels", f"{labels.dtype}{list(labels.shape)}", f"uint8[{len(images)}]")
    classes = network.output_shape[0]
    if labels.max() >= classes:
        raise InputError("labels", f"a label of {labels.max()}", f"labels below {classes}")
    if options.holdout >= len(images):
        raise InputError("holdout", options.holdout, f"fewer than the {len(images)} images")
    if resume and checkpoint is None:
        raise InputError("resume", resume, "a checkpoint to resume from")


def _check_images(network: Network, images: Images) -> None:
    if images.dtype != np.uint8 or images.ndim != 3 or len(images) == 0:
        raise InputError(
            "images", f"{images.dtype}{list(images.shape)}", "uint8[n, height, width], n > 0"
        )
    channels, height, width = network.input_shape
    if channels != 1 or height != width:
        raise InputError("network", f"input {network.input_shape}", "square images of one channel")
