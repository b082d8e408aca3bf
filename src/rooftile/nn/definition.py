"""The definition of a network: its layers in order, and the parameters of each."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError, UnsupportedProblem, did_you_mean, unknown
from rooftile.nn.data.pixels import Pixels
from rooftile.nn.data.standardisation import Standardisation
from rooftile.nn.initialisation import DEFAULT, Init, check_init, check_scale, draw
from rooftile.nn.interface import Interface, Task
from rooftile.nn.layers import Layer, Shape, apart
from rooftile.nn.serialisation import ARCHITECTURE_KEY, STANDARDISATION_KEY, metadata_of, to_text
from rooftile.nn.tensors import read_tensors, write_tensors
from rooftile.ops import Float32, Softmax
from rooftile.ops import Layer as LayerProblem
from rooftile.ops.checks import check_positive, check_seed
from rooftile.runtime.arrays.libraries import library_of

MODEL_KEY = "model"
"""Key of a weight file's metadata that names the model."""
_AXES = ("channels", "height", "width")
"""Of an image."""


@dataclass(frozen=True, eq=False, repr=False)
class NetworkDefinition:
    """Layers in a row over images of ``input_shape`` (channels, height, width), or over rows of
    ``input_shape`` (features,).

    ``parameters`` holds float32 arrays under ``<layer>.weights`` and ``<layer>.bias``
    in the shapes of the layers' problems; empty, it is an architecture without
    weights yet.  ``metadata`` is what a weight file says of itself (command, seed,
    accuracy, version).  ``pixels`` says how images of uint8 become the layers' input, without which
    plans take none; ``standardisation`` says how rows of features, or images of floating-point
    numbers, do; ``task`` whether the outputs stand for classes, as they do where it is None, or are
    the numbers of a regression.  All three are saved with the weights.  Raises `InputError` when
    the layers do not fit each other or the parameters do not fit the layers.
    """

    name: str
    input_shape: Shape
    layers: tuple[Layer, ...]
    parameters: Mapping[str, Float32] = field(default_factory=dict, repr=False)
    metadata: Mapping[str, str] = field(default_factory=dict, repr=False)
    pixels: Pixels | None = None
    standardisation: Standardisation | None = None
    task: Task | None = None

    def __post_init__(self) -> None:
        for layer in self.layers:
            if not isinstance(layer, Layer):
                raise InputError("layers", repr(layer), "layers of rooftile.nn alone")
        names = [layer.name for layer in self.layers]
        if not names or len(set(names)) != len(names):
            raise InputError("layers", names, "at least one layer, each with its own name")
        self._check_input_shape()
        _ = self.interface
        shapes, where = self.parameter_shapes, f"parameters of {self.name}"
        if self.parameters:
            held = _checked_parameters(self.parameters, shapes, where)
            object.__setattr__(self, "parameters", held)

    def _check_input_shape(self) -> None:
        names = {1: ("features",), 3: _AXES}.get(len(self.input_shape))
        if names is None:
            expected = f"(features,), or ({', '.join(_AXES)})"
            raise InputError("input_shape", self.input_shape, expected)
        check_positive(**dict(zip(names, self.input_shape, strict=True)))

    def __repr__(self) -> str:
        results = (
            f"{name} ({_sizes(problem.output_shape[1:])})" for name, problem in self.weighted(1)
        )
        way = " -> ".join([_sizes(self.input_shape), *results])
        return f"<{type(self).__name__} {self.name}: {way}, {self._count:,} parameters>"

    def summary(self) -> str:
        """The layers with the shapes of their results and their parameters, as a table of text."""
        rows = [("layer", "what", "result", "parameters"), ("", "", _sizes(self.input_shape), "")]
        for layer, (name, problem) in zip(self.layers, self.weighted(1), strict=True):
            count = sum(math.prod(shape) for shape in problem.parameter_shapes.values())
            rows.append((name, str(layer), _sizes(problem.output_shape[1:]), f"{count:,}"))
        rows.append(("total", "", "", f"{self._count:,}"))
        return aligned(rows)

    @property
    def _count(self) -> int:
        """The numbers that are learned."""
        return sum(map(math.prod, self.parameter_shapes.values()))

    @cached_property
    def interface(self) -> Interface:
        """The preparation of inputs, and the meaning of outputs."""
        return Interface(
            self.name,
            self.input_shape,
            self.output_shape,
            self.layers[-1].activation,
            self.pixels,
            self.standardisation,
            self.task,
        )

    def prepare(self, raw: NDArray[Any]) -> Float32:
        """The layers' input from raw images or rows: see `Interface.prepare`."""
        return self.interface.prepare(raw)

    def problems(self, batch: int) -> tuple[tuple[str, LayerProblem], ...]:
        """Each operation's name and problem for a batch, in order: layers with weights, each
        followed by the activation that it does not fuse, called ``<layer>.<activation>``. Raises
        `UnsupportedProblem` for an activation that no operation computes by itself."""
        problems: list[tuple[str, LayerProblem]] = []
        for layer, (name, problem) in zip(self.layers, self.weighted(batch), strict=True):
            problems.append((name, problem))
            left = apart(layer.activation)
            if left == "softmax":
                problems.append((f"{name}.{left}", Softmax(batch, problem.output_shape[1])))
            elif left != "none":
                raise UnsupportedProblem("plan", f"no operation is {left}", "predict of training")
        return tuple(problems)

    def weighted(self, batch: int) -> tuple[tuple[str, LayerProblem], ...]:
        """Each layer's name and the problem with its parameters, in the order of the layers."""
        shape: Shape = self.input_shape
        problems: list[tuple[str, LayerProblem]] = []
        for layer in self.layers:
            problem = layer.problem(shape, batch)
            problems.append((layer.name, problem))
            shape = problem.output_shape[1:]
        return tuple(problems)

    @property
    def output_shape(self) -> Shape:
        """Shape of the result for one image."""
        return self.weighted(1)[-1][1].output_shape[1:]

    @property
    def parameter_shapes(self) -> dict[str, Shape]:
        """Shape of every parameter by its key, in the order of the layers."""
        return {
            f"{name}.{parameter}": shape
            for name, problem in self.weighted(1)
            for parameter, shape in problem.parameter_shapes.items()
        }

    def _without_weights(self) -> InputError:
        expected = "one with weights, as its initialise(seed) gives"
        return InputError("network", f"{self.name} without parameters", expected)

    def parameters_of(self, layer: str) -> tuple[Float32, ...]:
        """A layer's parameters in the order its problem takes them.  Raises `InputError`."""
        keys = [key for key in self.parameter_shapes if key.rpartition(".")[0] == layer]
        if not keys:
            raise unknown("layer", layer, [item.name for item in self.layers])
        if not self.parameters:
            raise self._without_weights()
        return tuple(self.parameters[key] for key in keys)

    def with_parameters(
        self, parameters: Mapping[str, Float32], metadata: Mapping[str, str] | None = None
    ) -> Self:
        """The same layers with other parameters: arrays float32 of NumPy, or of PyTorch or JAX in
        the CPU's memory.  Raises `InputError` when they do not fit."""
        return replace(self, parameters=dict(parameters), metadata=dict(metadata or {}))

    def initialise(self, seed: int, init: Init | None = None, *, last_scale: float = 1.0) -> Self:
        """The same layers with random weights.

        ``init`` is the rule by which the weights of all layers are drawn, ``glorot``,
        ``kaiming_uniform``, ``he`` or ``lecun``, see `rooftile.nn.initialisation.RULES`; None: by
        each layer's own ``init``, or ``glorot``. The last layer's weights are multiplied by
        ``last_scale``. Raises `InputError`.
        """
        check_seed(seed)
        check_scale(last_scale)
        if init is not None:
            check_init(init)
        generator = np.random.default_rng(seed)
        shapes, parameters = self.parameter_shapes, dict[str, Float32]()
        for layer in self.layers:
            rule = init or layer.init or DEFAULT
            weights, bias = f"{layer.name}.weights", f"{layer.name}.bias"
            scale = last_scale if layer is self.layers[-1] else 1.0
            drawn = draw(generator, rule, shapes[weights], shapes[bias], scale)
            parameters[weights], parameters[bias] = drawn
        return self.with_parameters(parameters)

    def save(self, path: str | Path, *, float16: Collection[str] = ()) -> None:
        """Write architecture, parameters and metadata as safetensors, in one step.

        `rooftile.load` makes the network of such a file.  ``float16`` names parameters that are
        rounded to 16 bits there, for a file of half the size; they are computed with in float32.
        Raises `InputError` for a name that is no parameter's, and beyond float16's range.
        """
        if not self.parameters:
            raise self._without_weights()
        own = {MODEL_KEY: self.name, ARCHITECTURE_KEY: to_text(self)}
        kept: dict[str, NDArray[Any]] = dict(self.parameters)
        for key in float16:
            kept[key] = _halved(kept, key)
        write_tensors(Path(path), kept, {**self.metadata, **own})

    def load(self, path: str | Path) -> Self:
        """The same layers with the parameters of a safetensors file, and with the ``pixels``, the
        ``standardisation`` and the ``task`` with which these were trained, where the file says so.

        Parameters of float16 become float32, which changes none.  Raises `InputError`, which
        names the file and the tensor, for a missing or surplus tensor, a wrong shape or dtype,
        and values that are not finite.
        """
        tensors, metadata = read_tensors(Path(path))
        said = metadata_of(metadata, str(path))
        for key, tensor in tensors.items():
            if tensor.dtype == np.float16:
                tensors[key] = tensor.astype(np.float32)
        _checked_parameters(tensors, self.parameter_shapes, str(path))
        for key in (ARCHITECTURE_KEY, STANDARDISATION_KEY):
            metadata.pop(key, None)  # The network says it.
        return replace(self, parameters=tensors, metadata=metadata, **said)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as lines of text, whose columns stand under each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)


def _sizes(shape: Shape) -> str:
    return " x ".join(map(str, shape))


def is_bias(key: str) -> bool:
    """True if a parameter is added, by its key."""
    return key.endswith(".bias")


def _halved(parameters: Mapping[str, NDArray[Any]], key: str) -> NDArray[np.float16]:
    """A parameter rounded to float16."""
    if key not in parameters:
        raise InputError(
            "float16", repr(key), f"names among {list(parameters)}{did_you_mean(key, parameters)}"
        )
    largest = float(np.abs(parameters[key]).max())
    if largest > float(np.finfo(np.float16).max):
        raise InputError("float16", f"{key} with {largest:g}", "values that float16 holds")
    return parameters[key].astype(np.float16)


def _checked_parameters(
    parameters: Mapping[str, Any], shapes: Mapping[str, Shape], where: str
) -> dict[str, Float32]:
    """The parameters as NumPy's arrays. Raises `InputError` unless there is a finite float32 array
    of each shape and no other."""
    missing, surplus = sorted(shapes.keys() - parameters), sorted(parameters.keys() - shapes)
    if missing or surplus:
        raise InputError(
            where, f"tensors with {missing} missing and {surplus} too many", f"{list(shapes)}"
        )
    found: dict[str, Float32] = {}
    for key, shape in shapes.items():
        found[key] = tensor = _on_host(f"{where}: {key}", parameters[key])
        if tensor.dtype != np.float32 or tensor.shape != shape:
            raise InputError(
                f"{where}: {key}", f"{tensor.dtype}{list(tensor.shape)}", f"float32{list(shape)}"
            )
        if not np.isfinite(tensor).all():
            raise InputError(f"{where}: {key}", "NaN or infinity", "finite values")
    return found


def _on_host(name: str, given: Any) -> NDArray[Any]:
    """A parameter as NumPy's; another library's is copied, since its owner may go on changing it.
    Raises `InputError` for one on a GPU."""
    if isinstance(given, np.ndarray):
        return given
    # A layer's own tensor has a gradient, which is none of the values.
    values = given.detach() if hasattr(given, "detach") else given
    library = library_of(name, values)
    if library.gpu(name, values) is not None:
        raise InputError(name, f"{library.title} on a GPU", "one in the CPU's memory")
    return np.array(library.on_host(name, values, ("float32", "float64")))
