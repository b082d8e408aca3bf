"""A network compiled for a device and a batch: strategies picked, buffers held."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from rooftile.errors import InputError
from rooftile.nn.definition import NetworkDefinition
from rooftile.ops import Float32, Layer, Precision, check_precision
from rooftile.ops.problem import check_positive
from rooftile.runtime.arrays import Library, library_of
from rooftile.runtime.choice import Choice, decide

AnyKind = TypeVar("AnyKind")
"""The kind of array that a plan is given and gives back."""


@dataclass(frozen=True)
class PlannedLayer:
    """One layer with the strategy that was picked for it."""

    name: str
    problem: Layer
    choice: Choice
    parameters: tuple[Float32, ...]

    @property
    def strategy(self) -> Any:
        """The strategy of the choice."""
        return self.choice.strategy


class Plan(ABC):
    """Classifies any number of images, ``batch`` at a time; the last batch may be partial.

    Made by `Network.plan`: on the CPU a `rooftile.nn.cpu_plan.CpuPlan`, on a GPU a
    `rooftile.nn.gpu_plan.GpuPlan`.  Buffers are allocated once; a call allocates its
    result and nothing else.  Calls from several threads take turns.
    """

    def __init__(
        self,
        network: NetworkDefinition,
        batch: int,
        precision: Precision,
        device: str,
        strategies: Mapping[str, str] | None,
    ) -> None:
        """Pick the strategies.  Raises `InputError`, `UnsupportedProblem`.

        ``strategies`` names the strategy of some layers; the others are chosen.
        """
        check_positive(batch=batch)
        check_precision(precision)
        self.network, self.batch, self.precision, self.device = network, batch, precision, device
        self.layers = _pick(network, batch, precision, device, strategies or {})
        self._turn = threading.Lock()

    @property
    def strategies(self) -> dict[str, str]:
        """Each layer's strategy by name."""
        return {layer.name: layer.strategy.name for layer in self.layers}

    def __call__(self, images: AnyKind, *, out: AnyKind | None = None) -> AnyKind:
        """Scores float32[N, classes] of images float32[N, channels, height, width], N >= 1.

        Images in the CPU's memory, of NumPy, PyTorch or JAX; the scores are of their kind.
        ``out`` takes the scores where it is given.  Raises `InputError` for another
        dtype, shape or place; only contiguity is converted.
        """
        library, given = _on_host("images", images)
        checked = self.checked(given)
        shape = (checked.shape[0], *self.network.output_shape)
        if out is None:
            scores = np.empty(shape, np.float32)
        else:
            scores = checked_out(_on_host("out", out, library)[1], shape)
            library.check_written("out", out)
        with self._turn:
            for first in range(0, checked.shape[0], self.batch):
                last = first + self.batch
                self._run(checked[first:last], scores[first:last])
        returned: AnyKind = library.from_host(scores) if out is None else out
        return returned

    @abstractmethod
    def _run(self, images: Float32, scores: Float32) -> None:
        """Scores of one batch or less, both arrays contiguous."""

    def checked(self, images: Float32) -> Float32:
        """Contiguous images of the network's input shape.  Raises `InputError`."""
        shape = self.network.input_shape
        expected = f"float32 images of shape [N, {', '.join(map(str, shape))}] with N of at least 1"
        if not isinstance(images, np.ndarray):
            raise InputError("images", type(images).__name__, expected)
        if images.dtype != np.float32 or images.shape[1:] != shape or images.shape[0] < 1:
            raise InputError("images", f"{images.dtype}{list(images.shape)}", expected)
        return np.require(images, requirements=("C", "A"))


def _on_host(name: str, array: Any, library: Library | None = None) -> tuple[Library, Float32]:
    """Whose array it is, and the array as NumPy's over the same memory.

    Raises `InputError` for one of another library than that given, or one on a GPU.
    """
    found = library_of(name, array)
    if library is not None and type(found) is not type(library):
        raise InputError(name, found.title, f"{library.title}, as images is")
    gpu = found.gpu(name, array)
    if gpu is not None:
        raise InputError(name, f"{found.title} on cuda:{gpu}", "one in the CPU's memory")
    return found, found.on_host(name, array)


def _pick(
    network: NetworkDefinition,
    batch: int,
    precision: Precision,
    device: str,
    strategies: Mapping[str, str],
) -> list[PlannedLayer]:
    problems = network.problems(batch)
    unknown = sorted(set(strategies) - {name for name, _ in problems})
    if unknown:
        raise InputError("strategies", unknown, f"layers among {[name for name, _ in problems]}")
    return [
        PlannedLayer(
            name,
            problem,
            decide(problem, precision, device, strategies.get(name)),
            tuple(np.ascontiguousarray(p) for p in network.parameters_of(name)),
        )
        for name, problem in problems
    ]


def checked_out(out: Float32, shape: tuple[int, ...], name: str = "out") -> Float32:
    """An array that takes results of this shape, as it is.  Raises `InputError` by its name."""
    if not isinstance(out, np.ndarray) or out.dtype != np.float32 or out.shape != shape:
        raise InputError(name, getattr(out, "shape", type(out).__name__), f"float32{list(shape)}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise InputError(name, "a strided or read-only array", "a writeable, contiguous one")
    return out
