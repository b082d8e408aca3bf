"""A network compiled for a device and a batch: strategies picked, buffers held."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from rooftile._locks import lock
from rooftile.errors import InputError, did_you_mean
from rooftile.nn.definition import NetworkDefinition, aligned
from rooftile.ops import AnyArray, Float32, Layer, Precision, check_precision
from rooftile.ops.checks import check_positive
from rooftile.ops.problem import numpy_dtype
from rooftile.runtime.arguments import FLOATS, Arguments
from rooftile.runtime.arrays.libraries import Library, library_of
from rooftile.runtime.calls.fast_path import Calls
from rooftile.runtime.selection.choice import Choice, decide

"""Images of these dtypes need no preparation, and their scores have the same."""

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
    `rooftile.nn.gpu_plan.GpuPlan`.  Any thread may call it.  Calls with arrays in the CPU's memory
    take turns, and work in buffers that were allocated once.  A plan can be pickled and copied: the
    copy is made from the network and the options, so its strategies are chosen where it is made.
    """

    def __init__(
        self,
        network: NetworkDefinition,
        batch: int,
        precision: Precision,
        device: str,
        strategies: Mapping[str, str] | None,
        prepared: bool = False,
    ) -> None:
        """Pick the strategies. Raises `InputError`, `UnsupportedProblem`. ``strategies`` names the
        strategy of some layers; the others are chosen. ``prepared``: inputs come as the layers read
        them, so that neither pixels nor raw features are taken."""
        check_positive(batch=batch)
        check_precision(precision)
        self.network, self.batch, self.precision, self.device = network, batch, precision, device
        self._asked, self._prepared = dict(strategies or {}), prepared
        self.layers = _pick(network, batch, precision, device, self._asked)
        self.standardisation = None if prepared else network.standardisation
        """The standardisation of raw rows before the layers read them."""
        floats = FLOATS if self.standardisation is None else ("float32", "float64")
        takes_pixels = network.pixels is not None and not prepared
        self.dtypes = (*floats, *(("uint8",) if takes_pixels else ()))
        """The dtypes of its images."""
        self._turn = lock()
        self._calls: Calls = {}
        """Calls with arrays where the plan is, that were made before."""
        # A network works its shapes out of its layers at each question.
        self._shapes, self._scores_shape = _shapes(network), network.output_shape

    def __repr__(self) -> str:
        where = f"batch {self.batch}, {self.precision}, {self.device}"
        ways = ", ".join(f"{name} {strategy}" for name, strategy in self.strategies.items())
        return f"<{type(self).__name__} of {self.network.name}: {where}; {ways}>"

    def __reduce__(self) -> tuple[Callable[..., Plan], tuple[Any, ...]]:
        options = {**self._options(), "prepared": self._prepared}
        return _made_again, (type(self), self.network, self.batch, self.precision, options)

    @abstractmethod
    def _options(self) -> dict[str, Any]:
        """The other options that the plan was made with, by name."""

    def summary(self) -> str:
        """Each layer's result and strategy, as a table of text."""
        where = f"{self.network.name}: batch {self.batch}, {self.precision}, {self.device}"
        rows = [("layer", "result", "strategy")]
        for layer in self.layers:
            shape = " x ".join(map(str, layer.problem.output_shape))
            rows.append((layer.name, shape, layer.strategy.name))
        return f"{where}\n{aligned(rows)}"

    @property
    def strategies(self) -> dict[str, str]:
        """Each layer's strategy by name."""
        return {layer.name: layer.strategy.name for layer in self.layers}

    def __call__(self, images: AnyKind, *, out: AnyKind | None = None) -> AnyKind:
        """Scores [N, classes] of images [N, channels, height, width], N >= 1, as their kind.

        Images of float32, float16 or bfloat16, whose scores have the same dtype; of uint8 where the
        network's ``pixels`` convert them to numbers, whose scores are float32; of one channel, its
        axis may be missing then. Where the network has a ``standardisation``, rows of float32 or
        float64 go through it first, unless the plan was made with ``prepared=True``, and their
        scores are float32. The layers compute as the plan's precision says: 16-bit images become
        float32, and scores are rounded at the end.

        Arrays of NumPy, PyTorch or JAX in the CPU's memory, whatever the plan's device; the scores
        are there when the call returns. A plan on a CUDA GPU also takes arrays there, of PyTorch,
        CuPy, JAX or with ``__cuda_array_interface__``, and reads them without a copy on the
        caller's stream (docs/do/arrays.md). ``out`` takes the scores where it is given.

        Raises `InputError` for another dtype, shape or place, `OutOfMemory`, and
        `UnsupportedProblem` for a call that a graph cannot capture.
        """
        try:
            like: Any = images
            _, repeat = self._calls[type(like), like.dtype, like.shape]
        except (AttributeError, KeyError, TypeError):
            pass
        else:
            if (made := repeat((images,), out)) is not None:
                repeated: AnyKind = made
                return repeated
        given = Arguments(images, "images")
        if given.gpu is not None:
            in_place: AnyKind = self._in_place(given, images, out)
            return in_place
        library = given.library
        x = self._accepted(library, images)
        shape = (len(x), *self._scores_shape)
        dtype = np.dtype(np.float32) if x.dtype in (np.uint8, np.float64) else x.dtype
        if out is None:
            scores = np.empty(shape, dtype)
        else:
            scores = checked_out(_host_out(library, out, dtype.name), shape, dtype.name)
            library.check_written("out", out)
            if np.may_share_memory(scores, x):
                raise InputError("out", "an array that overlaps images", "memory of its own")
        with self._turn:
            self._compute(self.standardised(x), scores)
        returned: AnyKind = library.from_host(scores) if out is None else out
        return returned

    def _compute(self, images: AnyArray, scores: AnyArray) -> None:
        """Scores of any number of images, both arrays contiguous, in turns with other calls."""
        for first in range(0, len(images), self.batch):
            last = first + self.batch
            self._run(images[first:last], scores[first:last])

    @abstractmethod
    def _run(self, images: AnyArray, scores: AnyArray) -> None:
        """Scores of one batch or less, both arrays contiguous."""

    def _in_place(self, given: Arguments[Any], images: Any, out: Any) -> Any:
        """The call with arrays on a GPU.  Raises `InputError` where the plan is elsewhere."""
        found = f"{given.library.title} on cuda:{given.gpu}"
        raise InputError("images", found, f"one in the CPU's memory: the plan is on {self.device}")

    def standardised(self, x: AnyArray) -> AnyArray:
        """Rows or images of numbers as the layers read them, float32; pixels as they are."""
        if self.standardisation is None or x.dtype == np.uint8:
            return x
        self._check_shape(x.shape, x.dtype.name)
        return self.standardisation(x).astype(np.float32, copy=False)

    def checked(self, images: Float32) -> Float32:
        """Contiguous float32 images of the network's input shape.  Raises `InputError`."""
        library = library_of("images", images)
        array = library.on_host("images", images)
        self._check_shape(array.shape, "float32")
        return np.require(array, requirements=("C", "A"))

    def _accepted(self, library: Library, images: Any) -> AnyArray:
        """Contiguous images as NumPy's [N, channels, height, width] in a dtype of the plan's."""
        array = library.on_host("images", images, self.dtypes)
        self._check_shape(array.shape, array.dtype.name)
        contiguous = np.require(array, requirements=("C", "A"))
        return contiguous.reshape(-1, *self.network.input_shape)

    def _check_shape(self, shape: tuple[int, ...], dtype: str) -> None:
        """Raise `InputError` for the shape of something else than images."""
        wanted = self.network.input_shape
        if not shape or shape[1:] not in self._shapes[dtype == "uint8"]:
            axes = ", ".join(map(str, wanted))
            expected = f"images of shape [N, {axes}]"
            raise InputError("images", f"{dtype}{list(shape)}", expected)


def _made_again(kind: Callable[..., Plan], *given: Any) -> Plan:
    """A plan as another one was made."""
    *placed, options = given
    return kind(*placed, **options)


def _shapes(network: NetworkDefinition) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Shapes that an image of numbers, and one of pixels, may have."""
    whole = network.input_shape
    return [whole], [whole, whole[1:]] if whole[0] == 1 else [whole]


def _host_out(library: Library, out: Any, dtype: str) -> AnyArray:
    """An array for scores as NumPy's.  Raises `InputError` unless it is as the images are."""
    given = Arguments(out, "out")
    if type(given.library) is not type(library):
        raise InputError("out", given.library.title, f"{library.title}, as images is")
    if given.gpu is not None:
        raise InputError("out", f"{library.title} on cuda:{given.gpu}", "one in the CPU's memory")
    return library.on_host("out", out, (dtype,))


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
        names = [name for name, _ in problems]
        expected = f"layers among {names}{did_you_mean(unknown[0], names)}"
        raise InputError("strategies", unknown, expected)
    return [
        PlannedLayer(
            name,
            problem,
            decide(problem, precision, device, strategies.get(name)),
            tuple(map(np.ascontiguousarray, network.parameters_of(name)))
            if problem.parameter_arrays
            else (),
        )
        for name, problem in problems
    ]


def checked_out(
    out: Any, shape: tuple[int, ...], dtype: str = "float32", name: str = "out"
) -> AnyArray:
    """An array that takes results of this shape, as it is.  Raises `InputError` by its name."""
    if not isinstance(out, np.ndarray) or out.dtype != numpy_dtype(dtype) or out.shape != shape:
        raise InputError(name, getattr(out, "shape", type(out).__name__), f"{dtype}{list(shape)}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise InputError(name, "a strided or read-only array", "a writeable, contiguous one")
    return out
