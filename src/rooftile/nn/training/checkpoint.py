"""A training run on disk: what is needed to go on as if it had never stopped."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.nn.definition import MODEL_KEY
from rooftile.nn.network import Network
from rooftile.nn.tensors import read_tensors, write_tensors
from rooftile.nn.training.optimisers import Arrays, Optimiser
from rooftile.nn.training.options import TrainingOptions

_PARAMETERS, _MEMORY = "parameters.", "optimiser."


@dataclass(frozen=True)
class Run:
    """What a checkpoint belongs to: it is resumed by the same run only."""

    network: Network
    options: TrainingOptions
    data: str
    """A hash of the images and labels."""

    @classmethod
    def of(cls, network: Network, options: TrainingOptions, *arrays: NDArray[Any]) -> Run:
        """The run that trains a network on these arrays."""
        digest = hashlib.sha256()
        for array in arrays:
            digest.update(repr(array.shape).encode())
            digest.update(np.ascontiguousarray(array).data)
        return cls(network, options, digest.hexdigest())

    def identity(self) -> dict[str, str]:
        """What must be equal, by name.  The number of threads need not be."""
        options = dataclasses.asdict(dataclasses.replace(self.options, threads=None))
        return {
            MODEL_KEY: self.network.name,
            "options": json.dumps(options, sort_keys=True),
            "data": self.data,
        }


def save(
    path: Path,
    run: Run,
    parameters: Arrays,
    optimiser: Optimiser,
    generator: np.random.Generator,
    epochs_done: int,
) -> None:
    """Write the state after an epoch, in one step."""
    tensors = {_PARAMETERS + key: value for key, value in parameters.items()}
    tensors |= {_MEMORY + key: value for key, value in optimiser.state.items()}
    metadata = run.identity() | {
        "epochs_done": str(epochs_done),
        "generator": json.dumps(generator.bit_generator.state),
    }
    write_tensors(path, tensors, metadata)


def restore(
    path: Path, run: Run, parameters: Arrays, optimiser: Optimiser, generator: np.random.Generator
) -> int:
    """Put a checkpoint's state into the arguments; return the number of epochs done.

    Raises `InputError`, which names the file, when it is damaged or of another run.
    """
    tensors, metadata = read_tensors(path)
    for key, value in run.identity().items():
        if metadata.get(key) != value:
            raise InputError(
                str(path), f"a checkpoint of {key} {metadata.get(key)}", f"{key} {value}"
            )
    _fill(path, tensors, _PARAMETERS, parameters)
    _fill(path, tensors, _MEMORY, optimiser.state)
    try:
        generator.bit_generator.state = json.loads(metadata["generator"])
        return int(metadata["epochs_done"])
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(str(path), f"metadata with {error!r}", "a checkpoint") from error


def _fill(path: Path, tensors: dict[str, NDArray[Any]], prefix: str, into: Arrays) -> None:
    """Copy the tensors under a prefix over arrays of the same names and shapes."""
    for key, target in into.items():
        tensor = tensors.get(prefix + key)
        if tensor is None or (tensor.shape, tensor.dtype) != (target.shape, target.dtype):
            found = "nothing" if tensor is None else f"{tensor.dtype}{list(tensor.shape)}"
            raise InputError(f"{path}: {prefix}{key}", found, f"{target.dtype}{list(target.shape)}")
        np.copyto(target, tensor)
