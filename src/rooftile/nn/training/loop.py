"""Training of a network, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices import cpu
from rooftile.devices.select import DeviceName, parse_device
from rooftile.errors import InputError, TrainingWarning, warn
from rooftile.nn.network import Network
from rooftile.nn.training import checkpoint as checkpoints
from rooftile.nn.training import inputs
from rooftile.nn.training.augment import augment
from rooftile.nn.training.each_sample import EachSample, applies
from rooftile.nn.training.gpu.trainer import DeviceTrainer
from rooftile.nn.training.losses import Targets, check_finite, check_weights
from rooftile.nn.training.model import Model
from rooftile.nn.training.optimisers import Arrays, optimiser
from rooftile.nn.training.options import Progress, TrainingOptions
from rooftile.nn.training.passes import Array
from rooftile.nn.training.phases import Phases
from rooftile.nn.training.state import State
from rooftile.nn.training.watch import LearningWatch
from rooftile.ops.checks import check_positive
from rooftile.runtime.calls.plain import plain

Report = Callable[[Progress], None]

_CLASSIFIED_AT_A_TIME = 256


@plain
def train(
    network: Network,
    data: inputs.Data,
    targets: Targets,
    options: TrainingOptions,
    *,
    checkpoint: Path | None = None,
    resume: bool = False,
    progress: Report | None = None,
    phases: Phases | None = None,
    device: DeviceName | None = None,
    data_memory: int | None = None,
    prepared: bool = False,
) -> Network:
    """Train a network; return it with its new parameters, as float32.

    ``data`` are rows of features or images of the network's input shape, float32 or float64, which
    go through the network's ``standardisation`` where it has one and they are not ``prepared``
    already; or images uint8[n, height, width] or [n, channels, height, width], which are resized to
    the network's input and standardised by its ``pixels`` batch by batch
    (`rooftile.nn.Network.prepare`). ``targets`` are labels, integers[n]; or, for a squared error,
    what the outputs should be, float32 or float64[n, outputs]. All may be arrays of NumPy, or of
    PyTorch or JAX in the CPU's memory. A network without parameters is initialised from the
    options' seed and by their ``init``. Trained with numbers as targets, a network whose ``task``
    is None becomes one of a regression; trained with uint8 images, a network without ``pixels``
    keeps the conversion of its images. Where there is a ``checkpoint``, the returned network's
    metadata has a hash of the data.

    Once in a run a `TrainingWarning` says that it does not learn: that all activations of a layer
    are dead, or that the loss stays at that of an answer which ignores the inputs.

    ``checkpoint`` is a file that is replaced after every epoch, but once a second at most, at the
    end, and when ``progress`` raises; with ``resume`` the run goes on from it and ends with the
    weights of a run that never stopped.  ``progress`` is called after every step, and may raise
    to stop the run.  ``phases`` is told where the time goes.

    ``device`` is ``cpu``, which None stands for, ``cuda[:N]`` or ``opencl[:N]``: there a step is
    one list of launches (on CUDA one graph) on memory that stays, and reports come for some steps
    at a time. Random numbers are as on the CPU, but for dropout. Data that take more than
    ``data_memory`` bytes there (None: half of its memory) are streamed: read in pieces, also from a
    `numpy.memmap`, and copied during the steps, which changes no bit.

    Raises `InputError` before any work for arguments that do not fit each other, for a checkpoint
    that is missing, damaged or of another run, and when the loss, or a weight after the last step,
    is no longer finite; the checkpoint is then of the step before, on a device of the last epoch,
    or of an earlier one with finite weights. Raises `UnsupportedProblem` for a network that the
    device does not train, and what opening it raises.
    """
    data, targets = inputs.data(network, data), inputs.targets(network, targets, options.loss)
    network = inputs.told(network, data, targets)
    data = inputs.standardised(network, data, prepared=prepared)
    _check(network, data, targets, options, checkpoint, resume, device)
    state = _begun(network, options)
    run = checkpoints.RunIdentity.of(network, options, data, targets)
    if resume and checkpoint is not None:
        checkpoints.restore(checkpoint, run, state)
    trained = network, data, targets, options, phases or Phases(), device, data_memory
    keeper = checkpoints.Keeper(checkpoint, run, state)
    watch = LearningWatch(network, data, targets, options)
    _train(_Trainer(*trained), state, keeper, watch, progress)
    made = {} if checkpoint is None else {checkpoints.DATA_KEY: run.data.result()}
    return network.with_parameters(_chosen(state, options), made)


def _train(
    trainer: _Trainer,
    state: State,
    keeper: checkpoints.Keeper,
    watch: LearningWatch,
    progress: Report | None,
) -> None:
    """Do what is left of the epochs, or of those until it stops early."""
    options = trainer.options
    try:
        while state.epoch < options.epochs and not _stopped(state, options):
            for report in trainer.epoch(state):
                if report.step == report.steps:
                    keeper.offer()
                    if (text := watch.warning(report, state)) is not None:
                        report = replace(report, warning=text)
                        warn(text, TrainingWarning)
                if progress is not None:
                    with keeper:
                        progress(report)
    except InputError:
        # Of a loss that is not finite, before its step.
        keeper.keep()
        raise
    keeper.keep()
    state.settle()


def _begun(network: Network, options: TrainingOptions) -> State:
    """The state at a run's beginning: with the network's parameters, or with some of the options'
    seed."""
    start = network
    if not network.parameters:
        start = network.initialise(options.seed, options.init, last_scale=options.last_scale)
    parameters = {key: value.astype(options.dtype) for key, value in start.parameters.items()}
    # Another stream of random numbers than the one that the initial weights are drawn from.
    generator = np.random.default_rng([options.seed, 1])
    return State(parameters, optimiser(options, parameters), generator)


def _chosen(state: State, options: TrainingOptions) -> Arrays:
    """The last parameters, or the best ones of a run that stops early, as float32. Raises
    `InputError` where one is not finite."""
    # Where no held-out loss was a number, no weights were best.
    stops_early = options.patience is not None and state.best.epoch > 0
    parameters = state.best.parameters if stops_early else state.parameters
    # What float32 cannot hold is an error of its own.
    with np.errstate(over="ignore"):
        chosen = {key: p.astype(np.float32) for key, p in parameters.items()}
    check_weights(chosen, options.learning_rate, state.epoch)
    return chosen


def predict(
    network: Network, data: inputs.Data, *, threads: int | None = None, prepared: bool = False
) -> NDArray[Any]:
    """The class of each row or image by the training pass, int64[n], or a regression's outputs,
    float32[n, outputs]: the check on a network's plans.  ``data`` are as `train` takes them."""
    found = outputs(network, data, threads=threads, prepared=prepared)
    predictions: NDArray[Any] = network.interface.predictions(found)
    return predictions


def outputs(
    network: Network, data: inputs.Data, *, threads: int | None = None, prepared: bool = False
) -> Array:
    """The network's outputs of rows or images by the training pass, float32[n, outputs].

    ``data`` are as `train` takes them.
    """
    if threads is not None:
        check_positive(threads=threads)
    data = inputs.standardised(network, inputs.data(network, data), prepared=prepared)
    if not network.parameters:
        raise InputError("network", f"{network.name} without parameters", "a network with weights")
    model = Model(network, threads or cpu.cores(), "squared_error")
    return _outputs(model, network.parameters, data, network, "float32")


def _outputs(
    model: Model, parameters: Mapping[str, Array], data: inputs.Data, network: Network, dtype: str
) -> Array:
    parts = [
        model.scores(
            parameters, inputs.numbers(network, data[first : first + _CLASSIFIED_AT_A_TIME], dtype)
        )
        for first in range(0, len(data), _CLASSIFIED_AT_A_TIME)
    ]
    return np.concatenate(parts)


def _stopped(state: State, options: TrainingOptions) -> bool:
    """True if the held-out loss has not become smaller for too long."""
    return options.patience is not None and state.epoch - state.best.epoch >= options.patience


class _Trainer:
    """One run's data and model."""

    def __init__(
        self,
        network: Network,
        data: inputs.Data,
        targets: Targets,
        options: TrainingOptions,
        phases: Phases,
        device: DeviceName | None = None,
        data_memory: int | None = None,
    ) -> None:
        self._model = Model(
            network,
            options.threads or cpu.cores(),
            options.loss,
            dtype=options.dtype,
            dropout=options.dropout,
            phases=phases,
        )
        self.options, self._network, self._phases = options, network, phases
        cut = len(data) - options.holdout
        self._data, self._targets = data[:cut], targets[:cut]
        self._each_sample: EachSample | None = None
        self._on_device: DeviceTrainer | None = None
        if device is not None and parse_device(device)[0] != "cpu":
            trained = network, self._data, self._targets, options, phases, device, data_memory
            self._on_device = DeviceTrainer(*trained, self._held)
        elif applies(network, data, options):
            self._each_sample = EachSample(network, self._data, self._targets, options)
        self._held_data, self._held_targets = data[cut:], targets[cut:]

    def epoch(self, state: State) -> Iterator[Progress]:
        """The rest of a pass over the data in a random order; a report after each step."""
        if self._on_device is not None:
            yield from self._on_device.epoch(state)
            return
        options, epoch = self.options, state.epoch
        order = state.generator.permutation(len(self._data))
        if self._each_sample is not None:
            yield self._whole_epoch(self._each_sample, state, order)
            return
        batch = options.batch or len(order)
        steps = -(-len(order) // batch)
        for number in range(steps):
            chosen = order[number * batch : (number + 1) * batch]
            with self._phases.of("data"):
                x = self._drawn(chosen, state.generator)
            if number < state.step:
                continue
            # A loss that is not finite is an error of its own.
            with np.errstate(over="ignore", invalid="ignore"):
                loss, gradients = self._model.loss_and_gradients(
                    state.parameters, x, self._targets[chosen], self._dropped(epoch, number)
                )
            rate = options.rate((epoch + number / steps) / options.epochs)
            check_finite(loss, rate, number + 1, epoch + 1)
            with self._phases.of("update"), np.errstate(over="ignore", invalid="ignore"):
                state.optimiser.step(state.parameters, gradients, rate)
            mean, last = (state.total + loss) / (number + 1), number + 1 == steps
            held = self._held(state) if last else (None, None)
            state.end_step(loss, last)
            yield Progress(epoch + 1, options.epochs, number + 1, steps, mean, rate, *held)

    def _whole_epoch(
        self, each_sample: EachSample, state: State, order: NDArray[np.int64]
    ) -> Progress:
        """An epoch that counts as one step."""
        rate, epoch = self.options.learning_rate, state.epoch + 1
        with self._phases.of("epoch"):
            loss, steps = each_sample.epoch(state.parameters, order)
        check_finite(loss, rate, steps + 1, epoch)
        held = self._held(state)
        state.end_step(loss, last=True)
        return Progress(epoch, self.options.epochs, 1, 1, loss, rate, *held)

    def _dropped(self, epoch: int, step: int) -> np.random.Generator | None:
        """The generator of a step's dropout, a stream of its own."""
        if self.options.dropout == 0:
            return None
        return np.random.default_rng([self.options.seed, 2, epoch, step])

    def _drawn(self, chosen: NDArray[np.int64], generator: np.random.Generator) -> Array:
        """Some of the data as the network reads it; of images, varied at random."""
        options, part = self.options, self._data[chosen]
        if part.ndim > 2:
            part = augment(part, generator, flip=options.flip, shift=options.shift)
        return inputs.numbers(self._network, part, options.dtype)

    def _held(self, state: State) -> tuple[float | None, float | None]:
        """Accuracy and loss on the held-out data; the best parameters are kept."""
        if len(self._held_data) == 0:
            return None, None
        labels, dtype = self._held_targets, self.options.dtype
        with self._phases.of("held out"):
            y = _outputs(self._model, state.parameters, self._held_data, self._network, dtype)
            loss = self._held_loss(state)
        state.best.offer(loss, state.epoch + 1, state.parameters)
        interface = self._network.interface
        classified = labels.dtype.kind != "f" and not interface.regression
        accuracy = float(np.mean(interface.labels(y) == labels)) if classified else None
        return accuracy, loss

    def _held_loss(self, state: State) -> float:
        """The mean loss of the held-out data."""
        at, total = _CLASSIFIED_AT_A_TIME, 0.0
        for first in range(0, len(self._held_data), at):
            part = self._held_data[first : first + at]
            x = inputs.numbers(self._network, part, self.options.dtype)
            targets = self._held_targets[first : first + at]
            total += len(part) * self._model.loss(state.parameters, x, targets)
        return total / len(self._held_data)


def _check(
    network: Network,
    data: inputs.Data,
    targets: Targets,
    options: TrainingOptions,
    checkpoint: Path | None,
    resume: bool,
    device: DeviceName | None,
) -> None:
    """Raise `InputError` for what would only fail later, or never."""
    if len(targets) != len(data):
        found = f"{targets.dtype}{list(targets.shape)}"
        raise InputError("targets", found, f"{len(data)} labels")
    if options.holdout >= len(data):
        raise InputError("holdout", options.holdout, f"fewer than the {len(data)} images")
    if any(layer.activation == "sign" for layer in network.layers):
        raise InputError("activation", "'sign'", "one with a derivative: sign has none")
    on_cpu = device is None or parse_device(device)[0] == "cpu"
    if on_cpu and options.precision != "ieee":
        raise InputError("precision", options.precision, "'ieee' on a CPU; 'cuda' rounds operands")
    if network.parameters and (options.init is not None or options.last_scale != 1):
        found = f"{options.init!r} and last_scale={options.last_scale}"
        expected = "None and 1: training goes on from the weights that the network has"
        raise InputError("init", found, expected)
    if resume and checkpoint is None:
        raise InputError("resume", resume, "a checkpoint to resume from")
