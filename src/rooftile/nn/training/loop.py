"""Mini-batch training of a network on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.errors import InputError
from rooftile.nn.network import Network
from rooftile.nn.training import checkpoint as checkpoints
from rooftile.nn.training.augment import augment
from rooftile.nn.training.model import Model
from rooftile.nn.training.optimisers import Arrays, optimiser
from rooftile.nn.training.options import Progress, TrainingOptions
from rooftile.ops import Float32
from rooftile.ops.problem import check_positive
from rooftile.runtime.arrays import library_of

Images = NDArray[np.uint8] | NDArray[np.float32]
"""uint8[n, height, width] or [n, channels, height, width] of any size, or float32 as the network
reads it: [n, channels, height, width]."""
Labels = NDArray[np.integer[Any]]
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

    ``images`` uint8[n, height, width] or [n, channels, height, width] are resized to the
    network's input and standardised by its ``pixels`` batch by batch
    (`rooftile.nn.Network.prepare`); float32[n, channels, height, width] of the network's own
    input shape are taken as they are.  ``labels`` are integers[n].  Both may be arrays of
    NumPy, or of PyTorch or JAX in the CPU's memory.  A network without parameters is
    initialised from the options' seed.  The loss is the mean softmax cross-entropy.

    ``checkpoint`` is a file that is replaced after every epoch; with ``resume`` the run
    goes on from it and ends with the weights of a run that never stopped.  ``progress``
    is called after every step, and may raise to stop the run.

    Raises `InputError` before any work for arguments that do not fit each other, for a
    checkpoint that is missing, damaged or of another run, and when the loss is no longer
    finite.
    """
    images, labels = _on_host(network, images), _labels_on_host(labels)
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
    trainer = _Trainer(model, images, labels, options, network)
    for epoch in range(done, options.epochs):
        for report in trainer.epoch(epoch, parameters, rule.step, generator):
            if report.step == report.steps and checkpoint is not None:
                checkpoints.save(checkpoint, run, parameters, rule, generator, epoch + 1)
            if progress is not None:
                progress(report)
    return network.with_parameters(parameters)


def predict(network: Network, images: Images, *, threads: int | None = None) -> NDArray[np.int64]:
    """The class of each image by the training pass: the check on a network's plans."""
    if threads is not None:
        check_positive(threads=threads)
    images = _on_host(network, images)
    if not network.parameters:
        raise InputError("network", f"{network.name} without parameters", "a network with weights")
    model = Model(network, threads or cpu.cores())
    return _predict(model, network.parameters, images, network)


def _predict(model: Model, parameters: Any, images: Images, network: Network) -> NDArray[np.int64]:
    parts = [
        model.scores(parameters, _numbers(network, images[first : first + _CLASSIFIED_AT_A_TIME]))
        for first in range(0, len(images), _CLASSIFIED_AT_A_TIME)
    ]
    classes: NDArray[np.int64] = np.concatenate(parts).argmax(axis=1)
    return classes


class _Trainer:
    """One run's data and model."""

    def __init__(
        self,
        model: Model,
        images: Images,
        labels: Labels,
        options: TrainingOptions,
        network: Network,
    ) -> None:
        self._model, self._options, self._network = model, options, network
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
            x = _numbers(self._network, varied)
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
        classes = _predict(self._model, parameters, self._held_images, self._network)
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
    if labels.shape != (len(images),):
        raise InputError("labels", f"{labels.dtype}{list(labels.shape)}", f"{len(images)} labels")
    classes = network.output_shape[0]
    if labels.max() >= classes or labels.min() < 0:
        found = labels.max() if labels.max() >= classes else labels.min()
        raise InputError("labels", f"a label of {found}", f"labels below {classes}, 0 at least")
    if options.holdout >= len(images):
        raise InputError("holdout", options.holdout, f"fewer than the {len(images)} images")
    if resume and checkpoint is None:
        raise InputError("resume", resume, "a checkpoint to resume from")


def _on_host(network: Network, images: Any) -> Images:
    """Images as NumPy's, or `InputError` for some that the network cannot learn from."""
    array: Images = library_of("images", images).on_host("images", images, ("uint8", "float32"))
    channels = network.input_shape[0]
    if array.dtype == np.float32:
        fits = array.shape[1:] == network.input_shape
        expected = f"float32[n, {', '.join(map(str, network.input_shape))}], n > 0"
    else:
        fits = array.shape[1:-2] == (channels,) or (array.ndim == 3 and channels == 1)
        expected = f"uint8[n, {channels}, height, width], n > 0"
    if not fits or 0 in array.shape:
        raise InputError("images", f"{array.dtype}{list(array.shape)}", expected)
    return array


def _labels_on_host(labels: Any) -> Labels:
    """Labels as NumPy's integers, or `InputError`."""
    dtypes = ("uint8", "int32", "int64")
    array: Labels = library_of("labels", labels).on_host("labels", labels, dtypes)
    return array


def _numbers(network: Network, images: Images) -> Float32:
    """What the network reads of some images."""
    return network.prepare(images) if images.dtype == np.uint8 else images  # type: ignore[arg-type,return-value]
