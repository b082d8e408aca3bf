"""A training run on disk: what is needed to go on as if it had never stopped."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rooftile._files import is_full
from rooftile.errors import InputError, RooftileWarning, warn
from rooftile.nn.definition import MODEL_KEY
from rooftile.nn.network import Network
from rooftile.nn.serialisation import ARCHITECTURE_KEY, to_text
from rooftile.nn.tensors import read_tensors, write_tensors
from rooftile.nn.training.optimisers import Arrays
from rooftile.nn.training.options import TrainingOptions
from rooftile.nn.training.state import Best, State

_PARAMETERS, _MEMORY, _BEST = "parameters.", "optimiser.", "best."
_SECONDS = 1.0
"""Between two checkpoints: an epoch may take less than a millisecond, and a file some more."""
DATA_KEY = "data"
"""Key of the metadata, of weights too, that has a hash of what was trained on."""
_TELLING = (MODEL_KEY, ARCHITECTURE_KEY, DATA_KEY, "options")
"""Keys of the metadata that tell one run from another."""
_STATE = "state"
"""Key of the metadata that says where the run stands."""


Given = TypeVar("Given")
Made = TypeVar("Made")


@dataclass(frozen=True)
class RunIdentity:
    """The identity of a checkpoint's run: it is resumed by the same run only."""

    network: Network
    options: TrainingOptions
    data: Future[str]
    """A hash of the data, which another thread makes."""

    @classmethod
    def of(cls, network: Network, options: TrainingOptions, *arrays: NDArray[Any]) -> RunIdentity:
        """The run that trains a network on these arrays."""
        return cls(network, options, _in_a_thread(_hash, arrays))

    def identity(self) -> dict[str, str]:
        """The values that must be equal, by name. The number of threads need not be."""
        options = dataclasses.asdict(dataclasses.replace(self.options, threads=None))
        return {
            MODEL_KEY: self.network.name,
            ARCHITECTURE_KEY: to_text(self.network),
            "options": json.dumps(options, sort_keys=True),
            DATA_KEY: self.data.result(),
        }


def _hash(arrays: Sequence[NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _written(run: RunIdentity, state: State) -> Callable[[Path], None]:
    """A function that writes the present state to a file, in one step."""
    tensors = {_PARAMETERS + key: value.copy() for key, value in state.parameters.items()}
    tensors |= {_MEMORY + key: value.copy() for key, value in state.optimiser.state.items()}
    tensors |= {_BEST + key: value.copy() for key, value in state.best.parameters.items()}
    where = {
        "epoch": state.epoch,
        "step": state.step,
        "total": state.total,
        "best_loss": state.best.loss,
        "best_epoch": state.best.epoch,
        "generator": state.drawn_from,
    }
    told = json.dumps(where)
    return lambda path: write_tensors(path, tensors, run.identity() | {_STATE: told})


class Keeper:
    """Writes the checkpoints of a run, where it has a file for them; also when what is done inside
    of it, between two steps, raises.

    A full disk is a warning: the run goes on, the checkpoint before stays, and the next one is
    tried.
    """

    def __init__(self, path: Path | None, run: RunIdentity, state: State) -> None:
        self._path, self._run, self._state = path, run, state
        self._last = -math.inf
        self._writing: Future[None] | None = None
        self._written_at = -1, -1
        """Epochs and steps that were done then: of one run they tell the state."""

    def keep(self) -> None:
        """Write where the run stands, between two steps; but no weights that are not finite, with
        which nothing can go on."""
        self._finish()
        self._begin()
        self._finish()

    def offer(self) -> None:
        """The same, by another thread, unless it was just done."""
        if time.perf_counter() - self._last >= _SECONDS:
            self._begin()

    def _begin(self) -> None:
        if self._path is None:
            return
        state = self._state
        state.settle()
        at = state.epoch, state.step
        if at == self._written_at:
            return
        if all(np.isfinite(value).all() for value in state.parameters.values()):
            write = _written(self._run, state)
            self._finish()
            self._writing = _in_a_thread(write, self._path)
            self._written_at, self._last = at, time.perf_counter()

    def _finish(self) -> None:
        """Wait for the file that is being written."""
        writing, self._writing = self._writing, None
        if writing is None:
            return
        try:
            writing.result()
        except OSError as error:
            if not is_full(error):
                raise
            self._written_at = -1, -1
            warn(f"no checkpoint: {error}", RooftileWarning)

    def __enter__(self) -> None:
        pass

    def __exit__(self, raised: object, *_: object) -> None:
        if raised is not None:
            self.keep()


def _in_a_thread(work: Callable[[Given], Made], given: Given) -> Future[Made]:
    """The result of ``work``, made by a thread of its own."""
    thread = ThreadPoolExecutor(1, "checkpoint")
    made = thread.submit(work, given)
    thread.shutdown(wait=False)
    return made


def restore(path: Path, run: RunIdentity, state: State) -> None:
    """Put a checkpoint's state into a new one.

    Raises `InputError`, which names the file, when it is damaged or of another run.
    """
    tensors, metadata = read_tensors(path)
    for key, value in _compared(run.identity()).items():
        found = _compared(metadata).get(key)
        if found != value:
            raise InputError(str(path), f"a checkpoint of {key} {found}", f"{key} {value}")
    _fill(path, tensors, _PARAMETERS, state.parameters)
    _fill(path, tensors, _MEMORY, state.optimiser.state)
    try:
        where = json.loads(metadata[_STATE])
        state.generator.bit_generator.state = where["generator"]
        state.epoch, state.step = int(where["epoch"]), int(where["step"])
        state.total = float(where["total"])
        state.best = Best(float(where["best_loss"]), int(where["best_epoch"]))
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(str(path), f"metadata with {error!r}", "a checkpoint") from error
    if state.epoch > run.options.epochs or (state.epoch == run.options.epochs and state.step):
        expected = f"epochs of at least {state.epoch + bool(state.step)}, which are begun"
        raise InputError(str(path), f"a run to {run.options.epochs} epochs", expected)
    if state.best.epoch:
        best = {key: np.empty_like(value) for key, value in state.parameters.items()}
        _fill(path, tensors, _BEST, best)
        state.best.parameters = best
    state.begin_epoch()


def is_of_the_run(weights: Path, checkpoint: Path) -> bool:
    """True if a file of weights was made by a checkpoint's run, with any number of epochs. Raises
    `InputError` for a checkpoint that cannot be read."""
    try:
        made = _compared(read_tensors(weights)[1])
    except InputError:
        return False
    held = _compared(read_tensors(checkpoint)[1])
    return all(held.get(key) == made.get(key) for key in _TELLING) and "data" in made


def _compared(metadata: Mapping[str, str]) -> dict[str, Any]:
    """The values by which two runs are compared: all that a run keeps that goes on to more epochs.
    Options that an older version had not have their defaults."""
    made: dict[str, Any] = {key: metadata[key] for key in _TELLING if key in metadata}
    try:
        given = json.loads(metadata["options"])
        given["optimizer"] = given.get("optimizer", given.get("optimiser"))
    except (KeyError, ValueError, TypeError):
        return made
    ignored = {"optimiser", "threads", "epochs"}
    defaults = dataclasses.asdict(TrainingOptions())
    made["options"] = {k: v for k, v in {**defaults, **given}.items() if k not in ignored}
    return made


def _fill(path: Path, tensors: dict[str, NDArray[Any]], prefix: str, into: Arrays) -> None:
    """Copy the tensors under a prefix over arrays of the same names and shapes."""
    for key, target in into.items():
        tensor = tensors.get(prefix + key)
        if tensor is None or (tensor.shape, tensor.dtype) != (target.shape, target.dtype):
            found = "nothing" if tensor is None else f"{tensor.dtype}{list(tensor.shape)}"
            raise InputError(f"{path}: {prefix}{key}", found, f"{target.dtype}{list(target.shape)}")
        np.copyto(target, tensor)
